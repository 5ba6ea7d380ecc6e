/** The ledger lists all of the contract, every row names a test that is there, and no row goes back. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lineOf, notReached, readLedger, root, rowOf, tallyOf } from '../ledger.ts'
import { daemon } from '../support/daemon.ts'
import { shapeOf, unserved, wanted } from './contract.ts'
import { namesIn, problemOf } from './evidence.ts'
import { effectPage, fallen, raised, readFloors, withNumber } from './page.ts'

const rows = readLedger()
const read = (file: string) => readFileSync(join(root, file), 'utf8')

t.test('every operation and kind of the contract has one row', async t => {
  const shapes = rows.map(({ operation }) => shapeOf(operation))
  t.same(
    shapes.filter((shape, at) => shapes.indexOf(shape) !== at),
    [],
    'no row is there twice',
  )
  t.same(
    wanted().filter(operation => !shapes.includes(shapeOf(operation))),
    [],
    'add a row without evidence to the list of its family',
  )
})

t.test('every MCP tool of a sandbox has a row', async t => {
  const { call } = await daemon(t, { env: { RELACE_API_KEY: 'k' } })
  const { body } = await call('POST', '/mcp', {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  })
  const names = body.result.tools.map(({ name }: { name: string }) => `tool ${name}`) as string[]
  t.ok(names.length > 20, 'the tools are found')
  t.same(
    names.filter(name => !rows.some(({ operation }) => operation === name)),
    [],
  )
})

t.test('the rows of each list are sorted', async t => {
  for (const file of globSync('test/ledger/*.list', { cwd: root })) {
    const lines = read(file).trimEnd().split('\n')
    t.same(lines, lines.toSorted(), `${file}: LC_ALL=C sort`)
  }
})

t.test('every row names a test that is there and drives real parts, or a decision', async t => {
  t.same(
    rows.map(problemOf).filter(problem => problem !== undefined),
    [],
  )
  const missing = new Set(unserved(rows))
  t.same(
    rows.filter(row => row.seen && missing.has(row)).map(({ operation }) => operation),
    [],
    'what is not served has no effect',
  )
})

t.test('no row goes back', async t => {
  t.same(fallen(readFloors(), rows), [])
})

t.test('the page and the README say what the ledger says; if not: make ledger', async t => {
  t.equal(read('docs/effect.md'), effectPage(rows))
  const readme = read('README.md')
  t.equal(withNumber(readme, rows), readme)
  t.throws(() => withNumber('# Hutch\n', rows), /no place/)
  t.match(readme, '(docs/effect.md)')
})

t.test('evidence that is none is told', async t => {
  const problem = (evidence: string) => problemOf(rowOf('x', `GET /v0/x | ${evidence}`))
  for (const [evidence, told] of [
    ['test/e2e/none.test.ts: a', /no file/],
    ['test/e2e/path.test.ts: a name that no sub-test has', /no sub-test/],
    ['test/e2e/vpc.test.ts: i-am-two', /no sub-test/],
    ['test/e2e/warm.soak.ts: a', /not part of make test/],
    ['test/shared/ids.test.ts: a', /neither a server/],
    ['docs/design/decisions/none.md', /no decision/],
  ] as const)
    t.match(problem(evidence), told, evidence)
  t.throws(() => rowOf('x', 'GET /v0/x'), /OPERATION \| EVIDENCE/)
  t.throws(() => rowOf('x', 'GET /v0/x | some test'), /neither/)
  const { tests, todos } = namesIn(
    "t.test('now', async t => {})\nt.test(\n  'later',\n  { skip: false, todo: 'the driver' }, async t => {})\nt.test(\"it's\", x)",
  )
  t.same([[...tests], [...todos]], [['now', "it's"], ['later']])
})

t.test('counts, floors, and a run that did not reach a sub-test', async t => {
  const [seen, empty] = [
    rowOf('a', 'GET /v0/a | test/e2e/a.test.ts: one'),
    rowOf('a', 'GET /v0/b | docs/design/decisions/b.md'),
  ]
  t.equal(lineOf(tallyOf([seen, empty])), 'ledger: 1 of 2 have effect')
  t.same(fallen({ a: 2, gone: 1 }, [seen, empty]), ['a: 1 rows have effect, 2 had', 'gone: 0 rows have effect, 1 had'])
  t.same(raised({ a: 3 }, [seen, empty]), { a: 3 })
  t.same(raised({ a: 0 }, [seen, empty]), { a: 1 })
  t.same(notReached([seen, empty], new Map([['test/e2e/a.test.ts', new Set(['one'])]])), [])
  t.same(notReached([seen, empty], new Map()), [], 'this machine skips the file')
  t.same(notReached([seen], new Map([['test/e2e/a.test.ts', new Set(['two'])]])), [
    'GET /v0/a: test/e2e/a.test.ts has run no sub-test "one"',
  ])
})
