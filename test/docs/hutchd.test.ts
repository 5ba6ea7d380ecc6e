/** docs/hutchd.md names every flag and variable the daemon reads, and none that it does not. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { wireNames } from '../../shared/wire-names.ts'

const root = new URL('../..', import.meta.url)
const page = readFileSync(new URL('docs/hutchd.md', root), 'utf8')
const sources = globSync('daemon/**/*.ts', { cwd: root }).map(file => readFileSync(new URL(file, root), 'utf8'))
const found = (pattern: RegExp): string[] =>
  sources.flatMap(source => [...source.matchAll(pattern)].map(match => match[1] as string))

/** What one daemon tells the next one is nobody else's. */
const between = [
  'HUTCH_REHEARSAL',
  ...sources.flatMap(source => [...source.matchAll(/^ {2}(HUTCH_[A-Z_]+): /gm)].map(match => match[1] as string)),
]

/** First column of a table: the code words in it. */
const inTable = (heading: string): string[] => {
  const [, section = ''] = page.split(`## ${heading}\n`)
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter(line => line.startsWith('| `'))
  return rows.flatMap(row => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(match => match[1] as string))
}

t.test('every variable that is read is on the page, and every one on the page is read', async t => {
  const names = wireNames([{ header: 'Svc', short: 'svc', image: 'svc' }])
  const plain = found(/(?:env(?:ironment)?\[|environment\.get\(|wordsOf\(env, )'([A-Z_]+)'/g)
  const vendor = found(/\b(?:own\(|vendor\(\w+, \w+(?:\(\w+\))?, )'([A-Z_]+)'/g).flatMap(name => names.env(name))
  const drive = found(/driveVendor\(\w+, \w+, '([A-Z_]+)'/g).flatMap(name => names.driveEnv(name))
  // What a shim or a bundle points programs to is told in the text.
  const pointed = ['SSL_CERT_FILE', 'JAVA_TOOL_OPTIONS']
  const read = new Set(
    [...plain, ...vendor, ...drive].filter(name => !between.includes(name) && !pointed.includes(name)),
  )
  t.ok(read.size > 40, 'found what is read')
  t.same(inTable('Environment').toSorted(), [...read].toSorted())
})

t.test('every flag is on the page', async t => {
  const source = readFileSync(new URL('daemon/config/flags.ts', root), 'utf8')
  const flags = [...source.matchAll(/^const (?:texts|switches) = \[(.*)\]/gm)].flatMap(match =>
    [...(match[1] as string).matchAll(/'([\w-]+)'/g)].map(name => `-${name[1]}`),
  )
  t.same(inTable('Command line').toSorted(), flags.toSorted())
})
