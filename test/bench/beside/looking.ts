/** Ten thousand files looked through: by name beside `find`, by content beside ripgrep. */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cpuOf, find, scratch } from '../child.ts'
import { inTurns, timeOf, type Bench } from '../measure.ts'
import { percentile, row, type Row } from '../report.ts'
import type { Contestants } from './contestants.ts'

const run = promisify(execFile)
const directories = 100
const filesInEach = 100
const rounds = 7
/** Found in one file of a hundred. */
const needle = 'needle in the hay'

const plant = (root: string): void => {
  const line = 'the quick brown fox jumps over the lazy dog and goes on its way\n'
  for (let directory = 0; directory < directories; directory++) {
    const at = join(root, `d${directory}`)
    mkdirSync(at)
    for (let file = 0; file < filesInEach; file++)
      writeFileSync(join(at, `f${file}.txt`), line.repeat(120) + (file === 50 ? `${needle}\n` : ''))
  }
}

/** Rows of one kind of look: ours and the tool's, in time; and our processor time. */
const compare = async (
  { ours }: Contestants,
  name: string,
  ways: { ours: () => Promise<unknown>; tool: () => Promise<unknown> },
): Promise<Row[]> => {
  await inTurns(3, { ours: () => timeOf(ways.ours), tool: () => timeOf(ways.tool) })
  const before = cpuOf(ours.pid)
  const times = await inTurns(rounds, { ours: () => timeOf(ways.ours), tool: () => timeOf(ways.tool) })
  const cpu = (cpuOf(ours.pid) - before) / rounds
  return [
    row(`beside.${name}`, percentile(times.ours, 0.5), 'ms', percentile(times.tool, 0.5)),
    row(`beside.${name}.cpu`, cpu, 'ms'),
  ]
}

export const looking = async (bench: Bench, all: Contestants): Promise<Row[]> => {
  const root = scratch(bench, 'looking')
  plant(root)
  const base = `http://127.0.0.1:${all.ours.port}`
  const ask = async (path: string, total: number) => {
    const answer = await fetch(`${base}/${path}`)
    const found = (await answer.json()) as { total: number }
    if (found.total !== total) throw new Error(`${path}: ${answer.status}, ${found.total} found and not ${total}`)
  }
  const encoded = encodeURIComponent(root)
  const named = directories * 10
  const rows = await compare(all, 'find', {
    ours: () => ask(`filesystem-find/${encoded}?patterns=f5%3F.txt&maxResults=100000`, named),
    tool: () => run('find', [root, '-type', 'f', '-name', 'f5?.txt']),
  })
  const ripgrep = find('rg')
  if (!ripgrep) bench.skip('beside.content-search: floor', 'needs ripgrep: apt-get install ripgrep')
  const query = new URLSearchParams({ query: needle, maxResults: '100000' })
  const search = () => ask(`filesystem-content-search/${encoded}?${query}`, directories)
  const grep = () => run(ripgrep ?? 'grep', [ripgrep ? '-n' : '-rn', needle, root])
  return [...rows, ...(await compare(all, 'content-search', { ours: search, tool: grep }))]
}
