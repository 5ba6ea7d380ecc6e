/**
 * Runs the tests with tap and closes with `N passed, N failed` (and `, N skipped`).
 *
 *     node test/run.ts [test/a.test.ts …]
 *
 * A file that fails beside others is run once more by itself; if it passes then, it counts as passed and is named
 * in the output, so that a machine too busy to keep a limit does not look like a defect, and a flaky test does not
 * hide. What the machine lacks is skipped, counted and named; a skipped driver that this machine can run fails the run.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, globSync, mkdirSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Parser, type Result } from 'tap-parser'

interface FileResult {
  readonly file: string
  pass: number
  fail: number
  readonly skips: { name: string; reason: string }[]
  readonly failures: Result[]
  ok: boolean
}

const root = fileURLToPath(new URL('..', import.meta.url))
const out = (line: string) => process.stdout.write(`${line}\n`)

/** Leaf assertions of a file; the points that only close a sub-test are not counted. */
const count = (into: FileResult, parser: Parser): void => {
  parser.on('assert', (result: Result) => {
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

const run = (files: readonly string[], jobs: number, log: string): Promise<FileResult[]> =>
  new Promise((resolve, reject) => {
    const results = new Map<string, FileResult>()
    const parser = new Parser()
    parser.on('child', (child: Parser) => {
      const file = relative(root, child.name.startsWith('/') ? child.name : `${root}${child.name}`)
      const result: FileResult = { file, pass: 0, fail: 0, skips: [], failures: [], ok: true }
      results.set(file, result)
      count(result, child)
      child.on('complete', (final: { ok: boolean; time?: number | null; failures: Result[] }) => {
        result.ok &&= final.ok
        if (!result.ok && result.fail === 0) {
          result.fail = 1
          result.failures.push(...final.failures)
        }
        out(describe(result, final.time ?? 0))
      })
    })
    // A file that dies before its first point has no child of its own, only a failing point with its name.
    parser.on('assert', (point: Result) => {
      const file = relative(root, point.name.startsWith('/') ? point.name : `${root}${point.name}`)
      const known = results.get(file)
      if (point.ok || point.skip) return
      if (known) {
        known.ok = false
        if (known.fail === 0) known.fail = 1
        known.failures.push(point)
      } else {
        results.set(file, { file, pass: 0, fail: 1, skips: [], failures: [point], ok: false })
        out(`FAILED ${file}`)
      }
    })
    const child = spawn(
      process.execPath,
      ['node_modules/.bin/tap', 'run', '--reporter=tap', `--jobs=${jobs}`, ...files],
      {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const copy = createWriteStream(log)
    child.stdout.pipe(copy)
    child.stdout.pipe(parser)
    child.on('error', reject)
    parser.on('complete', () => {
      for (const file of files)
        if (!results.has(file)) results.set(file, { file, pass: 0, fail: 1, skips: [], failures: [], ok: false })
      resolve([...results.values()])
    })
  })

const explain = (result: FileResult): void => {
  out(`\n--- ${result.file}`)
  for (const failure of result.failures.slice(0, 20)) {
    out(`not ok ${failure.fullname ?? failure.name}`)
    if (failure.diag) out(JSON.stringify(failure.diag, null, 2).split('\n').slice(0, 40).join('\n'))
  }
}

const given = process.argv.slice(2)
const files = given.length
  ? given.map(file => relative(root, new URL(file, `file://${process.cwd()}/`).pathname))
  : globSync('test/**/*.test.ts', { cwd: root }).sort()
mkdirSync(`${root}.runtime`, { recursive: true })
out(`${files.length} test files, two at a time; full output in .runtime/test.tap`)
const first = await run(files, 2, `${root}.runtime/test.tap`)
let results = first
const failed = first.filter(result => !result.ok)
if (failed.length > 0 && failed.length <= 12) {
  for (const result of failed) explain(result)
  out(`\n${failed.length} failed beside others; running each once more by itself`)
  const again = await run(
    failed.map(result => result.file),
    1,
    `${root}.runtime/test-again.tap`,
  )
  results = first.map(result => again.find(other => other.file === result.file) ?? result)
  for (const result of again) if (result.ok) out(`passed only by itself: ${result.file}`)
}
for (const result of results.filter(result => !result.ok)) explain(result)
const skips = results.flatMap(result => result.skips)
for (const { name, reason } of skips) out(`skipped: ${name} (${reason})`)
const sum = (pick: (result: FileResult) => number) => results.reduce((total, result) => total + pick(result), 0)
const passes = sum(result => result.pass)
const failures = sum(result => result.fail)
out(`${passes} passed, ${failures} failed${skips.length ? `, ${skips.length} skipped` : ''}`)
process.exitCode = failures > 0 || results.some(result => !result.ok) || passes === 0 ? 1 : 0
