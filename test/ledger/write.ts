/** `make ledger`: prints the count and writes docs/effect.md, the number in the README and the floors, which only rise. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lineOf, readLedger, root, tallyOf } from '../ledger.ts'
import { effectPage, fallen, floorsFile, raised, readFloors, withNumber } from './page.ts'

const rows = readLedger()
const floors = readFloors()
const readme = join(root, 'README.md')
writeFileSync(join(root, 'docs/effect.md'), effectPage(rows))
writeFileSync(readme, withNumber(readFileSync(readme, 'utf8'), rows))
writeFileSync(floorsFile, `${JSON.stringify(raised(floors, rows), undefined, 2)}\n`)
for (const one of fallen(floors, rows)) {
  process.stdout.write(`${one}\n`)
  process.exitCode = 1
}
process.stdout.write(`${lineOf(tallyOf(rows))}\n`)
