/**
 * The ledger of effect: every operation and resource kind of the contract, and the end-to-end test that saw its effect. Each file
 * test/ledger/FAMILY.list holds the rows of one family, sorted, one row to a line:
 *
 *     OPERATION |                                           nothing has seen an effect yet
 *     OPERATION | test/e2e/path.test.ts: name of a sub-test that test sees the effect, with real parts
 *     OPERATION | docs/design/decisions/NAME.md             this decision refuses the operation on purpose
 *
 * test/ledger/README.md says what counts as an effect. `make ledger` prints the count and writes what is computed from the rows.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Row {
  /** Name of the list it stands in. */
  readonly family: string
  /** `GET /v0/agents`, `POST {sandbox}/process`, `tool fsReadFile`, `kind agent`, … */
  readonly operation: string
  /** The sub-test that saw the effect. */
  readonly seen?: { readonly file: string; readonly name: string }
  /** The decision that refuses it, a path from the root. */
  readonly refusedBy?: string
}

export interface Tally {
  readonly effective: number
  readonly total: number
}

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Parses one line of a list. Throws when the line has no column for the evidence, or evidence of another form. */
export const rowOf = (family: string, line: string): Row => {
  const [operation = '', evidence, ...rest] = line.split('|').map(part => part.trim())
  if (operation === '' || evidence === undefined || rest.length > 0)
    throw new Error(`test/ledger/${family}.list: "${line}" is not "OPERATION | EVIDENCE"`)
  if (evidence === '') return { family, operation }
  if (/^docs\/design\/decisions\/[\w.-]+\.md$/.test(evidence)) return { family, operation, refusedBy: evidence }
  const [, file, name] = /^(test\/\S+\.ts): (.+)$/.exec(evidence) ?? []
  if (!file || !name)
    throw new Error(`test/ledger/${family}.list: "${evidence}" names neither "test/FILE.ts: sub-test" nor a decision`)
  return { family, operation, seen: { file, name } }
}

/** Every row, family by family, in the order of the files. */
export const readLedger = (): Row[] =>
  globSync('test/ledger/*.list', { cwd: root })
    .toSorted()
    .flatMap(file =>
      readFileSync(root + file, 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => rowOf(basename(file, '.list'), line)),
    )

export const tallyOf = (rows: readonly Row[]): Tally => ({
  effective: rows.filter(({ seen }) => seen).length,
  total: rows.length,
})

/** The line that `make ledger` and each run of the tests print. */
export const lineOf = ({ effective, total }: Tally): string => `ledger: ${effective} of ${total} have effect`

/**
 * Rows whose sub-test was not reached, although its file ran. `ran` holds the names of all sub-tests and
 * skipped points by file; a file is absent when this machine skips it whole.
 */
export const notReached = (rows: readonly Row[], ran: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
  rows
    .filter(({ seen }) => seen && ran.has(seen.file) && !ran.get(seen.file)?.has(seen.name))
    .map(({ operation, seen }) => `${operation}: ${seen?.file} has run no sub-test "${seen?.name}"`)
