/** Who may import whom, and what may be reached for only in one place. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = globSync('{shared,daemon,control,images}/**/*.ts', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/build/**'],
})
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const importsOf = (file: string): string[] =>
  [...read(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1] as string)
const inside = (file: string) =>
  importsOf(file)
    .filter(name => name.startsWith('.'))
    .map(name => normalize(join(dirname(file), name)))
const packages = (file: string) => importsOf(file).filter(name => !name.startsWith('.') && !name.startsWith('node:'))

/** The first match decides what a file may import from our own tree. */
const fences: readonly (readonly [RegExp, readonly RegExp[]])[] = [
  [/^shared\//, [/^shared\//]],
  [/^daemon\//, [/^daemon\//, /^shared\//]],
  [/^control\/drivers\/(oci|fake)\//, [/^control\/drivers\//, /^shared\//, /^control\/config\.ts$/]],
  [/^control\/store\//, [/^control\/store\//, /^shared\//]],
  [/^control\//, [/^control\//, /^shared\//, /^images\//]],
  [/^images\//, [/^images\//, /^shared\//, /^daemon\/main\.ts$/, /^control\//]],
]

/** A technology is imported only inside its own folder. */
const homes: readonly (readonly [string, RegExp])[] = [
  ['zod', /^shared\/schema\.ts$/],
  ['better-sqlite3', /^control\/store\/sqlite\//],
  ['kysely', /^control\/store\//],
  ['node-pty', /^daemon\/node-internals\//],
  ['busboy', /^daemon\/(filesystem|multipart)\/|^shared\/http\//],
  ['tar-stream', /^daemon\/(filesystem|archives?)\/|^control\/images\//],
  ['@modelcontextprotocol/sdk', /^daemon\/mcp\//],
]

/** Ambient facts are read in one place each and passed in. */
const ambient: readonly (readonly [string, RegExp, RegExp])[] = [
  [
    'process.env',
    /\bprocess\.env\b/,
    /(^|\/)(config|main|environment|boot)\.ts$|^images\/|\/main\.ts$|^daemon\/config\/|^control\/config\//,
  ],
  ['Date.now', /\bDate\.now\(|\bnew Date\(\)/, /^shared\/clock\.ts$|^images\//],
  ['Math.random', /\bMath\.random\(/, /^$/],
  ['console', /\bconsole\.\w+\(/, /^images\/|\/main\.ts$/],
]

t.test('every import stays inside its fence', async t => {
  t.ok(sources.length > 10, 'found the sources')
  for (const file of sources) {
    const fence = fences.find(([who]) => who.test(file))
    const outside = inside(file).filter(target => !fence?.[1].some(allowed => allowed.test(target)))
    t.same(outside, [], `${file} imports only what it may`)
  }
})

t.test('a technology is imported only inside its own folder', async t => {
  for (const file of sources)
    for (const name of packages(file)) {
      const home = homes.find(([technology]) => name === technology || name.startsWith(`${technology}/`))
      if (home) t.match(file, home[1], `${file} may import ${name}`)
    }
})

t.test('time, chance, environment and console are passed in', async t => {
  for (const file of sources) {
    const code = read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    for (const [what, pattern, home] of ambient)
      if (pattern.test(code)) t.match(file, home, `${file} reaches for ${what}`)
  }
})

t.test('no source file has two jobs: 400 lines at most', async t => {
  for (const file of sources) t.ok(read(file).split('\n').length <= 401, `${file} is at most 400 lines`)
})
