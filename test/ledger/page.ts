/** What is computed from the ledger: the page of what has no effect yet, the README's number, and the floors. */
import { readFileSync } from 'node:fs'
import { lineOf, root, tallyOf, type Row } from '../ledger.ts'
import { unserved } from './contract.ts'

const byFamily = (rows: readonly Row[]): Map<string, Row[]> => Map.groupBy(rows, ({ family }) => family)

const tableOf = (rows: readonly Row[]): string[] => [
  '| family | have effect | of | refused |',
  '|---|---|---|---|',
  ...[...byFamily(rows)].map(([family, own]) => {
    const { effective, total } = tallyOf(own)
    return `| ${family} | ${effective} | ${total} | ${own.filter(({ refusedBy }) => refusedBy).length} |`
  }),
]

const emptyOf = (rows: readonly Row[]): string[] => {
  const missing = new Set(unserved(rows))
  const empty = rows.filter(({ seen, refusedBy }) => !seen && !refusedBy)
  return [...byFamily(empty)].flatMap(([family, own]) => [
    `### ${family}`,
    '',
    ...own.map(row => `- \`${row.operation}\`${missing.has(row) ? ' (not served)' : ''}`),
    '',
  ])
}

const refusedOf = (rows: readonly Row[]): string[] => {
  const refused = rows.filter(({ refusedBy }) => refusedBy)
  if (refused.length === 0) return ['Nothing yet.', '']
  return [
    ...refused.map(({ operation, refusedBy = '' }) => `- \`${operation}\`: [why](${refusedBy.replace(/^docs\//, '')})`),
    '',
  ]
}

/** docs/effect.md */
export const effectPage = (rows: readonly Row[]): string =>
  [
    '# What has effect, and what has none yet',
    '',
    '<!-- written by `make ledger` from test/ledger -->',
    '',
    `\`${lineOf(tallyOf(rows))}\``,
    '',
    'A row is an operation, an MCP tool, a resource kind, a trigger, a type of policy or a billing dimension of the contract. It has effect',
    'when an end-to-end test with real parts saw what it is for: a process that ran, bytes that came back, a request that arrived, money',
    'on a bill. A record that is only stored and answered again counts as nothing. Operations that are not listed below have effect.',
    '[The ledger](../test/ledger/README.md) names the test of each.',
    '',
    ...tableOf(rows),
    '',
    '## No effect yet',
    '',
    'Operations marked "not served" answer 404. Of the others, most only keep a record and answer it; some work, and no end-to-end test',
    'has shown it yet.',
    '',
    ...emptyOf(rows),
    '## Refused on purpose',
    '',
    ...refusedOf(rows),
  ]
    .join('\n')
    .replace(/\n+$/, '\n')

/** Families of which no row has effect. */
const emptyFamilies = (rows: readonly Row[]): string[] =>
  [...byFamily(rows)].filter(([, own]) => tallyOf(own).effective === 0).map(([family]) => family)

const marked = /(<!-- ledger: written by `make ledger` -->\n)[^]*?(\n<!-- \/ledger -->)/

/** The README with the ledger's number and the families that have no effect at all. Throws where it has no place for them. */
export const withNumber = (readme: string, rows: readonly Row[]): string => {
  if (!marked.test(readme)) throw new Error('the README has no place for the number of the ledger')
  const empty = emptyFamilies(rows)
  const rest = empty.length > 0 ? ` No effect at all yet: ${empty.join(', ')}.` : ''
  return readme.replace(marked, (_, begin: string, end: string) => `${begin}\`${lineOf(tallyOf(rows))}\`.${rest}${end}`)
}

export const floorsFile = `${root}test/ledger/floors.json`

export type Floors = Readonly<Record<string, number>>

/** How many rows of each family have effect at least. */
export const readFloors = (): Floors => JSON.parse(readFileSync(floorsFile, 'utf8')) as Floors

/** The floors raised to what there is; none is lowered. */
export const raised = (floors: Floors, rows: readonly Row[]): Floors =>
  Object.fromEntries(
    [...byFamily(rows)].map(([family, own]) => [family, Math.max(floors[family] ?? 0, tallyOf(own).effective)]),
  )

/** Families that have fewer rows with effect than they had. */
export const fallen = (floors: Floors, rows: readonly Row[]): string[] => {
  const families = byFamily(rows)
  return Object.entries(floors).flatMap(([family, floor]) => {
    const { effective } = tallyOf(families.get(family) ?? [])
    return effective < floor ? [`${family}: ${effective} rows have effect, ${floor} had`] : []
  })
}
