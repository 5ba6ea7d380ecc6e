/**
 * The daemon as CommonJS pieces. esbuild splits only ES modules, so it first makes those (one piece for what starts,
 * one for each `import()`, shared ones between), then each is turned into a CommonJS function of its own.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, transform, type Metafile, type Plugin } from 'esbuild'

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

/** The MCP SDK checks with ajv what a person was asked to fill in; the daemon asks nobody, and ajv is half of the SDK. */
const nobodyAsked: Plugin = {
  name: 'nobody-asked',
  setup(builder) {
    builder.onLoad({ filter: /@modelcontextprotocol\/sdk\/.*\/validation\/ajv-provider\.js$/ }, () => ({
      contents: `export class AjvJsonSchemaValidator { getValidator() { throw new Error('ajv is not in the bundle') } }`,
      loader: 'js',
    }))
  },
}

const schemaLibrary = 'zod/mini'

/** Names of what our sources take from the schema library, `s`; an s behind a slash is a flag of an expression. */
const usedOfSchemas = (root: string): string[] => {
  const names = new Set<string>()
  for (const dir of ['daemon', 'shared'])
    for (const file of readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' }))
      if (file.endsWith('.ts'))
        // Not the flag of a regular expression: `/x/s.exec(y)`.
        for (const [, name = ''] of readFileSync(join(root, dir, file), 'utf8').matchAll(/(?<!\/)\bs\s*\.([a-z]\w*)/g))
          names.add(name)
  return [...names].sort()
}

/**
 * Gives our sources the library by way of boot/deferred.ts, and makes the library a piece of its own, `shapes.js`, which
 * has of it what our sources use.
 */
const deferredSchemas = (root: string): Plugin => ({
  name: 'deferred-schemas',
  setup(builder) {
    const names = usedOfSchemas(root).filter(name => !['core', 'input', 'output', 'globalRegistry'].includes(name))
    const kind = (name: string) => (name === 'toJSONSchema' ? 'direct' : 'deferred')
    builder.onResolve({ filter: new RegExp(`^${schemaLibrary}$`) }, ({ importer }) =>
      /\/(daemon|shared)\/[^:]*\.ts$/.test(importer) && !importer.includes('node_modules')
        ? { path: 'deferred', namespace: 'schemas' }
        : undefined,
    )
    builder.onResolve({ filter: /^shapes$/ }, () => ({ path: 'shapes', namespace: 'schemas' }))
    builder.onResolve({ filter: /^\.\/shapes\.js$/ }, ({ path }) => ({ path, external: true }))
    builder.onLoad({ filter: /^shapes$/, namespace: 'schemas' }, () => ({
      contents: `export { ${[...names, 'globalRegistry'].join(', ')} } from '${schemaLibrary}'`,
      resolveDir: import.meta.dirname,
    }))
    builder.onLoad({ filter: /^deferred$/, namespace: 'schemas' }, () => ({
      contents: [
        `import { deferred, deferredRegistry, direct } from ${JSON.stringify(join(import.meta.dirname, 'boot/deferred.ts'))}`,
        `const library = () => require('./shapes.js')`,
        ...names.map(name => `const ${name}_ = ${kind(name)}(library, '${name}')`),
        `const globalRegistry = deferredRegistry(library)`,
        `export { ${[...names.map(name => `${name}_ as ${name}`), 'globalRegistry'].join(', ')} }`,
      ].join('\n'),
      resolveDir: root,
    }))
  },
})

const form = { format: 'cjs', platform: 'node', target, supported: { 'dynamic-import': false } } as const

const buildDaemon = (root: string, entry: string, info: BuildInfo) =>
  build({
    ...small,
    absWorkingDir: root,
    entryPoints: { main: entry, shapes: 'shapes' },
    outdir: 'out',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target,
    // Found beside the daemon: it brings an addon of its own.
    external: ['node-pty'],
    define: { HUTCH_BUILD: JSON.stringify(info) },
    plugins: [oneLanguage, nobodyAsked, deferredSchemas(root)],
    logLevel: 'error',
  })

/** The pieces of `entry` by file name; `main.js` starts the daemon. */
export const compileDaemon = async (root: string, entry: string, info: BuildInfo): Promise<Map<string, string>> => {
  const { outputFiles, metafile } = await buildDaemon(root, entry, info)
  const modules = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
  const first = loadedFirst(metafile, 'main.js')
  const pieces = new Map([['main.js', await pack(modules, first)]])
  for (const [name, code] of modules) if (!first.has(name)) pieces.set(name, await toFunction(code))
  return pieces
}

/** Directories, from `root`, of the npm packages that the daemon's pieces have code of. */
export const bundledPackages = async (root: string): Promise<string[]> => {
  const info = { version: '', gitCommit: '', buildTime: '' }
  const { metafile } = await buildDaemon(root, 'daemon/main.ts', info)
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

/** All that is loaded first as one piece, which gives its modules to later pieces under their file names. */
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
