/**
 * Replaces the schema library in our sources by boot/deferred.ts, which makes a schema when it is first used, and makes
 * the library a piece of its own with only the parts that our sources use. It assumes that sources use the library as
 * `s` and `s.name` only.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

const schemaLibrary = 'zod/mini'

/** Names that our sources take from the schema library, `s`. */
export const usedOfSchemas = (root: string): string[] => {
  const names = new Set<string>()
  for (const dir of ['daemon', 'shared'])
    for (const file of readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' }))
      if (file.endsWith('.ts'))
        // Not the flag of a regular expression: `/x/s.exec(y)`.
        for (const [, name = ''] of readFileSync(join(root, dir, file), 'utf8').matchAll(/(?<!\/)\bs\s*\.([a-z]\w*)/g))
          names.add(name)
  return [...names].sort()
}

/** The piece of the library is `shapes.js`. */
export const deferredSchemas = (root: string): Plugin => ({
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
        `export { ${[...names.map(name => `${name}_ as ${name}`), 'deferredRegistry as globalRegistry'].join(', ')} }`,
      ].join('\n'),
      resolveDir: root,
    }))
  },
})
