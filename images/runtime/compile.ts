/**
 * The daemon as CommonJS pieces. esbuild splits only ES modules, so it makes those first: one piece for the start, one
 * per `import()`, and shared ones. Each is then turned into a CommonJS function.
 */
import { basename } from 'node:path'
import { build, transform, type Metafile, type Plugin } from 'esbuild'
import { deferredSchemas } from './deferred-schemas.ts'

export interface BuildInfo {
  readonly version: string
  readonly gitCommit: string
  readonly buildTime: string
}

const target = 'node24'
/** Minified, but with names, so that stack traces are readable. */
const small = { minifyWhitespace: true, minifySyntax: true, legalComments: 'none', charset: 'ascii' } as const

/** zod's index imports its messages in every language, 40 % of the bundle; the daemon uses one. */
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
 * The MCP SDK checks answers to elicitation with ajv, which is half of the SDK; the daemon does not use elicitation.
 */
const noElicitation: Plugin = {
  name: 'no-elicitation',
  setup(builder) {
    builder.onLoad({ filter: /@modelcontextprotocol\/sdk\/.*\/validation\/ajv-provider\.js$/ }, () => ({
      contents: `export class AjvJsonSchemaValidator { getValidator() { throw new Error('ajv is not in the bundle') } }`,
      loader: 'js',
    }))
  },
}

const form = { format: 'cjs', platform: 'node', target, supported: { 'dynamic-import': false } } as const

interface CompileOptions {
  /** Schemas are made when they are first used; default true. */
  readonly deferSchemas?: boolean
}

const buildDaemon = (root: string, entry: string, info: BuildInfo, deferSchemas: boolean) =>
  build({
    ...small,
    absWorkingDir: root,
    entryPoints: { main: entry, ...(deferSchemas && { shapes: 'shapes' }) },
    outdir: 'out',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target,
    // Not bundled, because it has a native addon; it lies beside the daemon.
    external: ['node-pty'],
    define: { HUTCH_BUILD: JSON.stringify(info) },
    plugins: [oneLanguage, noElicitation, ...(deferSchemas ? [deferredSchemas(root)] : [])],
    logLevel: 'error',
  })

/** The pieces of `entry` by file name; `main.js` starts the daemon. */
export const compileDaemon = async (
  root: string,
  entry: string,
  info: BuildInfo,
  { deferSchemas = true }: CompileOptions = {},
): Promise<Map<string, string>> => {
  const { outputFiles, metafile } = await buildDaemon(root, entry, info, deferSchemas)
  const modules = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
  const first = loadedFirst(metafile, 'main.js')
  const pieces = new Map([['main.js', await pack(modules, first)]])
  for (const [name, code] of modules) if (!first.has(name)) pieces.set(name, await toFunction(code))
  return pieces
}

/** Directories, from `root`, of the npm packages that the daemon's pieces have code of. */
export const bundledPackages = async (root: string): Promise<string[]> => {
  const info = { version: '', gitCommit: '', buildTime: '' }
  const { metafile } = await buildDaemon(root, 'daemon/main.ts', info, true)
  const inputs = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs))
  const directories = inputs.flatMap(([path, { bytesInOutput }]) => {
    const directory = /^(?:.*:)?(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
    return directory !== undefined && bytesInOutput > 0 ? [directory] : []
  })
  return [...new Set(directories)]
}

/** Names of the modules that loading `entry` loads with it. */
const loadedFirst = ({ outputs }: Metafile, entry: string): Set<string> => {
  const found = new Set<string>()
  const visit = (path: string): void => {
    if (found.has(basename(path))) return
    found.add(basename(path))
    for (const { kind, path: next, external } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && !external) visit(next)
  }
  visit(`out/${entry}`)
  return found
}

/** Everything that is loaded first, as one piece; later pieces find its modules under their file names. */
const pack = async (modules: ReadonlyMap<string, string>, first: ReadonlySet<string>): Promise<string> => {
  const shared = [...first].filter(name => name !== 'main.js')
  const entry = [...shared.map(name => `export * as "${name}" from './${name}'`), `export * from './main.js'`].join(
    '\n',
  )
  const { outputFiles } = await build({
    ...small,
    ...form,
    bundle: true,
    write: false,
    stdin: { contents: entry, resolveDir: '/' },
    plugins: [
      {
        name: 'made-modules',
        setup(builder) {
          builder.onResolve({ filter: /^\.\// }, ({ path, kind }) => {
            const name = basename(path)
            return kind !== 'dynamic-import' && first.has(name)
              ? { path: name, namespace: 'made' }
              : { path, external: true }
          })
          builder.onLoad({ filter: /./, namespace: 'made' }, ({ path }) => ({ contents: modules.get(path) ?? '' }))
        },
      },
    ],
    external: ['node-pty'],
    logOverride: { 'empty-import-meta': 'silent' },
    logLevel: 'error',
  })
  return asFunction(outputFiles[0]?.text ?? '')
}

const asFunction = (body: string): string => `(function(exports,require,module,__filename,__dirname){${body}\n})`

/** An ES module as the text of `(function (exports, require, module, __filename, __dirname) {…})`. */
const toFunction = async (code: string): Promise<string> => {
  const { code: body } = await transform(code, {
    ...small,
    ...form,
    // Sources tell the bundle by an import.meta without members.
    logOverride: { 'empty-import-meta': 'silent' },
  })
  return asFunction(body)
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
