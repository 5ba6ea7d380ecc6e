/** The table of docs/walls.md, as the attacks of test/e2e/shared-tables.test.ts have it. */
import { tableText } from '../support/shared-tables.ts'

const [begin, end] = ['<!-- tables -->', '<!-- end of tables -->']

export const withWalls = (page: string): string => {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/walls.md has no place for its table, between ${begin} and ${end}`)
  return `${page.slice(0, from)}${begin}\n\n${tableText()}\n\n${page.slice(to)}`
}
