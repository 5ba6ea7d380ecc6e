/**
 * Runs the tests (node-tap files, each a program that prints TAP) and closes with `ledger: N of M have effect` (`ledger.ts`) and, as
 * the last line, `N passed, N failed` (and `, N skipped`).
 *
 *     node test/run.ts [test/a.test.ts … | --only part-of-a-path | --soak [--only part-of-a-path]]
 *
 * A file that fails beside others is run again by itself, twice at most; if it passes then, it counts as passed and is named
 * in the output, so that a machine too busy to keep a limit does not look like a defect, and a flaky test does not
 * hide. A whole run also tells how much of the sources it ran (`coverage.ts`). What the machine lacks is skipped, counted and named; a skipped driver that this machine can run fails the run.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Parser, type Result } from 'tap-parser'
import { beginCoverage, endCoverage } from './coverage.ts'
import { lineOf, notReached, readLedger, tallyOf } from './ledger.ts'
import { testFiles } from './support/test-files.ts'

interface FileResult {
  readonly file: string
  pass: number
  fail: number
  readonly skips: { name: string; reason: string }[]
  readonly failures: Result[]
  /** Names of its sub-tests, and of points that were skipped. */
  readonly names: Set<string>
  ok: boolean
  /** What it said on the standard error, when it failed. */
  words?: string
}

const root = fileURLToPath(new URL('..', import.meta.url))
/** A file that takes longer has hung, seconds. */
const limitS = 400
/** Of a soak. */
const soakLimitS = 3600
const stripOnce = new URL('strip-once.mjs', import.meta.url).href
const out = (line: string) => process.stdout.write(`${line}\n`)

const given = process.argv.slice(2)
const limit = given[0] === '--soak' ? soakLimitS : limitS
/** One more than there are cores: most files wait for something now and then. */
const jobs = availableParallelism() + 1
/** Some files say nothing of the whole. */
const counted = given.length > 0 ? {} : beginCoverage()

/** Leaf assertions of a file; the points that only close a sub-test are not counted. */
const count = (into: FileResult, parser: Parser): void => {
  parser.on('assert', (result: Result) => {
    if (result.closingTestPoint || result.skip) into.names.add(result.name ?? '')
    if (result.skip) into.skips.push({ name: result.fullname ?? result.name ?? '', reason: String(result.skip) })
    else if (result.todo) into.skips.push({ name: result.fullname ?? '', reason: `todo ${String(result.todo)}` })
    else if (result.closingTestPoint) into.ok &&= result.ok
    else if (result.ok) into.pass++
    else {
      into.fail++
      into.failures.push(result)
    }
  })
  parser.on('child', (child: Parser) => count(into, child))
}

const describe = (result: FileResult, ms: number): string => {
  const state = result.ok ? 'ok    ' : 'FAILED'
  const skipped = result.skips.length ? `, ${result.skips.length} skipped` : ''
  return `${state} ${result.file} (${result.pass} passed${result.fail ? `, ${result.fail} failed` : ''}${skipped}, ${(ms / 1000).toFixed(1)} s)`
}

/** One file in a process of its own, as `node file` runs it, but for who strips the types: nothing of the runner is in its environment. */
const runFile = (file: string, log: WriteStream): Promise<FileResult> =>
  new Promise((resolve, reject) => {
    const result: FileResult = { file, pass: 0, fail: 0, skips: [], failures: [], names: new Set(), ok: true }
    const parser = new Parser()
    count(result, parser)
    const started = performance.now()
    const child = spawn(process.execPath, ['--import', stripOnce, file], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...counted,
        ...(given[0] === '--soak' ? { SOAK: '1' } : {}),
        TAP: '1',
        TAP_TIMEOUT: String(limit),
      },
    })
    let errors = ''
    child.stderr.on('data', (piece: Buffer) => (errors = (errors + piece).slice(-4000)))
    log.write(`# ${file}\n`)
    child.stdout.on('data', (piece: Buffer) => void log.write(piece))
    child.stdout.pipe(parser)
    // tap ends a file that takes too long; one that hangs beyond that is ended here.
    const timer = setTimeout(() => child.kill('SIGKILL'), (limit + 60) * 1000)
    child.on('error', reject)
    const closed = new Promise<string>(done => child.on('close', (code, signal) => done(signal ?? String(code))))
    parser.on('complete', (final: { ok: boolean; failures: Result[] }) => {
      void closed.then(end => {
        clearTimeout(timer)
        result.ok &&= final.ok && end === '0'
        if (!result.ok && result.fail === 0) {
          result.fail = 1
          result.failures.push(...final.failures)
        }
        if (!result.ok) result.words = `it ended with ${end}\n${errors}`
        out(describe(result, performance.now() - started))
        resolve(result)
      })
    })
  })

const run = async (files: readonly string[], jobs: number, logFile: string): Promise<FileResult[]> => {
  const log = createWriteStream(logFile)
  const waiting = [...files]
  const results: FileResult[] = []
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) results.push(await runFile(file, log))
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  log.end()
  return results
}

const explain = (result: FileResult): void => {
  out(`\n--- ${result.file}`)
  if (result.words) out(result.words)
  for (const failure of result.failures.slice(0, 20)) {
    out(`not ok ${failure.fullname ?? failure.name}`)
    if (failure.diag) out(JSON.stringify(failure.diag, null, 2).split('\n').slice(0, 40).join('\n'))
  }
}

const files = testFiles(root, process.cwd(), given)
if (files.length === 0) {
  out(`no test file has "${given.slice(1).join(' ')}" in its path`)
  process.exit(1)
}
mkdirSync(`${root}.runtime`, { recursive: true })
out(`${files.length} test files, ${jobs} at a time; full output in .runtime/test.tap`)
const first = await run(files, jobs, `${root}.runtime/test.tap`)
let results = first
/** A busy machine is given two more chances, one file at a time. */
const chances = 2
for (let chance = 1; chance <= chances; chance++) {
  const failed = results.filter(result => !result.ok)
  if (failed.length === 0 || failed.length > 12) break
  for (const result of failed) explain(result)
  out(`\n${failed.length} failed; running each once more by itself (${chance} of ${chances})`)
  const again = await run(
    failed.map(result => result.file),
    1,
    `${root}.runtime/test-again-${chance}.tap`,
  )
  results = results.map(result => again.find(other => other.file === result.file) ?? result)
  for (const result of again) if (result.ok) out(`passed only by itself: ${result.file}`)
}
for (const result of results.filter(result => !result.ok)) explain(result)
const skips = results.flatMap(result => result.skips)
for (const { name, reason } of skips) out(`skipped: ${name} (${reason})`)
// `make setup` has put these here: a test of a driver that is skipped for want of them was skipped wrongly.
const wrongly = skips.filter(({ reason }) => process.getuid?.() === 0 && /needs (root|runc|busybox)/.test(reason))
for (const { name, reason } of wrongly) out(`skipped although this machine can run it: ${name} (${reason})`)
const coverage = given.length > 0 ? { lines: [], ok: true } : await endCoverage()
for (const line of coverage.lines) out(line)
const ledger = readLedger()
const ran = results.filter(({ pass }) => pass > 0).map(({ file, names }) => [file, names] as const)
const unreached = notReached(ledger, new Map(ran))
for (const row of unreached) out(`ledger: ${row}`)
out(lineOf(tallyOf(ledger)))
const sum = (pick: (result: FileResult) => number) => results.reduce((total, result) => total + pick(result), 0)
const passes = sum(result => result.pass)
const failures = sum(result => result.fail)
out(`${passes} passed, ${failures} failed${skips.length ? `, ${skips.length} skipped` : ''}`)
process.exitCode =
  failures > 0 ||
  !coverage.ok ||
  unreached.length > 0 ||
  wrongly.length > 0 ||
  results.some(result => !result.ok) ||
  passes === 0
    ? 1
    : 0
