/**
 * The daemon as CommonJS pieces. esbuild splits only ES modules, so it first makes those (one piece for what starts,
 * one for each `import()`, shared ones between), then each is turned into a CommonJS function of its own.
 */
import { readFileSync } from 'node:fs'
import { build, transform, type Plugin } from 'esbuild'

export interface BuildInfo {
  readonly version: string
  readonly gitCommit: string
  readonly buildTime: string
}

const target = 'node24'
/** Shrunk but with its names, so that a stack trace can be read. */
const small = { minifyWhitespace: true, minifySyntax: true, legalComments: 'none', charset: 'ascii' } as const

/** zod's index names its messages in every language, which is 40 % of the bundle; the daemon speaks one. */
const oneLanguage: Plugin = {
  name: 'one-language',
  setup(builder) {
    builder.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: `export { default as en } from './en.js'`,
      loader: 'js',
    }))
  },
}

/**
 * `s`, our name for the schema library, crosses files as an object, which keeps all of the library alive. Importing
 * the library itself under that name lets the bundler see what is used.
 */
const onlyUsedSchemas: Plugin = {
  name: 'only-used-schemas',
  setup(builder) {
    builder.onLoad({ filter: /\/(daemon|shared)\/.*\.ts$/ }, ({ path }) => {
      const code = readFileSync(path, 'utf8')
      const direct = code.replace(
        /^import \{([^}]*)\} from '([^']*\/schema\.ts)'$/gm,
        (statement, names: string, from: string) => {
          const list = names.split(',').map(name => name.trim())
          if (!list.includes('s')) return statement
          const others = list.filter(name => name && name !== 's').join(', ')
          return `import * as s from "zod/mini"; import { ${others} } from '${from}'`
        },
      )
      return { contents: direct, loader: 'ts' }
    })
  },
}

/** The pieces of `entry` by file name; `main.js` starts the daemon. */
export const compileDaemon = async (root: string, entry: string, info: BuildInfo): Promise<Map<string, string>> => {
  const { outputFiles } = await build({
    ...small,
    absWorkingDir: root,
    entryPoints: { main: entry },
    outdir: 'out',
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target,
    // Found beside the daemon: it brings an addon of its own.
    external: ['node-pty'],
    define: { HUTCH_BUILD: JSON.stringify(info) },
    plugins: [oneLanguage, onlyUsedSchemas],
    logLevel: 'error',
  })
  const pieces = new Map<string, string>()
  for (const file of outputFiles)
    pieces.set(file.path.slice(file.path.lastIndexOf('/') + 1), await toFunction(file.text))
  return pieces
}

/** An ES module as the text of `(function (exports, require, module, __filename, __dirname) {…})`. */
const toFunction = async (code: string): Promise<string> => {
  const { code: body } = await transform(code, {
    ...small,
    format: 'cjs',
    platform: 'node',
    target,
    supported: { 'dynamic-import': false },
    // Sources tell the bundle by an import.meta without members.
    logOverride: { 'empty-import-meta': 'silent' },
  })
  return `(function(exports,require,module,__filename,__dirname){${body}\n})`
}

/** One of the bundle's own start files as plain CommonJS. */
export const compileBoot = async (root: string, entry: string): Promise<string> => {
  const { outputFiles } = await build({
    ...small,
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target,
    logLevel: 'error',
  })
  return outputFiles[0]?.text ?? ''
}
