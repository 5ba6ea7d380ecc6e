/**
 * How much of the sources the tests run, tree by tree, in this process and in every other Node that they start and that ends in
 * peace, or is killed by a test that lets it write first (`support/coverage.ts`). A tree whose share of lines falls below its
 * floor fails the run; floors only rise.
 *
 *     node test/coverage.ts    raises the floors to what the last whole run has measured, less a third of a percent
 *
 * The table of all files is `.runtime/coverage/report.txt` then.
 */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readSources } from './house/sources.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const directory = `${root}.runtime/coverage`
const raw = `${directory}/raw`
const floorsFile = new URL('coverage-floors.json', import.meta.url)
const trees = ['shared', 'daemon', 'control'] as const
/** What is left to runs that differ a little. */
const margin = 0.3

type Shares = Record<(typeof trees)[number], number>

/** Environment of programs that are to be counted. */
export const beginCoverage = (): Record<string, string> => {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(raw, { recursive: true })
  // Programs that gave up root write there too.
  chmodSync(raw, 0o1777)
  return { NODE_V8_COVERAGE: raw }
}

/** c8 merges what the processes have left; half a minute at most. */
const merge = async (): Promise<void> => {
  // A file of types alone is never loaded.
  const unseen = readSources().filter(({ typesOnly }) => typesOnly)
  const options = [
    ['--temp-directory', raw],
    ['--reports-dir', directory],
    ['--reporter', 'json-summary'],
    ['--reporter', 'text'],
    ...trees.map(tree => ['--include', `${tree}/**/*.ts`]),
    ...unseen.map(({ file }) => ['--exclude', file]),
    ['--all', '--merge-async'],
  ]
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [`${root}node_modules/c8/bin/c8.js`, 'report', ...options.flat()],
    { cwd: root, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, NODE_V8_COVERAGE: '' } },
  )
  writeFileSync(`${directory}/report.txt`, stdout)
  rmSync(raw, { recursive: true })
}

/** Percent of lines that were run, per tree, as the last report says. */
const sharesOf = (): Shares => {
  const summary = JSON.parse(readFileSync(`${directory}/coverage-summary.json`, 'utf8')) as Record<
    string,
    { lines: { total: number; covered: number } }
  >
  const shareOf = (tree: string): number => {
    const files = Object.entries(summary).filter(([file]) => relative(root, file).startsWith(`${tree}/`))
    const sum = (what: 'total' | 'covered') => files.reduce((total, [, { lines }]) => total + lines[what], 0)
    return (100 * sum('covered')) / sum('total')
  }
  return Object.fromEntries(trees.map(tree => [tree, shareOf(tree)])) as Shares
}

const floors = (): Shares => JSON.parse(readFileSync(floorsFile, 'utf8')) as Shares

/** What to say of a run that was begun with `beginCoverage`, and whether every tree is above its floor. */
export const endCoverage = async (): Promise<{ lines: string[]; ok: boolean }> => {
  await merge()
  const shares = sharesOf()
  const least = floors()
  const low = trees.filter(tree => shares[tree] < least[tree])
  const high = trees.filter(tree => shares[tree] > least[tree] + 2 * margin)
  return {
    ok: low.length === 0,
    lines: [
      `coverage: ${trees.map(tree => `${tree} ${shares[tree].toFixed(1)} % of lines (floor ${least[tree]})`).join(', ')}`,
      ...low.map(tree => `coverage of ${tree} fell below its floor; .runtime/coverage/report.txt says where`),
      ...(high.length > 0 ? [`the floor of ${high.join(' and ')} can rise: node test/coverage.ts`] : []),
    ],
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const shares = sharesOf()
  const least = floors()
  const raised = trees.map(tree => [tree, Math.max(least[tree], Math.floor((shares[tree] - margin) * 10) / 10)])
  writeFileSync(floorsFile, `${JSON.stringify(Object.fromEntries(raised), null, 2)}\n`)
}
