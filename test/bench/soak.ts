/**
 * Rounds of everything that the daemon does. What it holds ten seconds after the last request of a round (its memory, in
 * which all that is shared with others counts by its share; its descriptors and threads; what it keeps on the disk of
 * processes that have ended) must not grow from round to round. `HUTCH_BENCH_ROUNDS` makes it longer: sixty are what a
 * busy agent does in an hour.
 */
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { measuredDaemon, type MeasuredDaemon } from './daemon.ts'
import type { Bench } from './measure.ts'
import { row, type Row } from './report.ts'
import { openClient, type Client } from './soak/client.ts'
import * as files from './soak/files.ts'
import * as processes from './soak/processes.ts'
import { startProvider } from './soak/provider.ts'

const MiB = 1024 * 1024
const defaultRounds = 3

interface Held {
  /** MiB. */
  readonly memory: number
  /** MiB of it that the daemon has written; the rest is read from files. */
  readonly written: number
  readonly descriptors: number
  readonly threads: number
  /** Files of output and journals, and MiB in them. */
  readonly files: number
  readonly disk: number
}

/** Files below `dir`, and the bytes that they occupy. */
const kept = (dir: string): { files: number; bytes: number } => {
  let [count, bytes] = [0, 0]
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    const stat = lstatSync(join(dir, name))
    if (!stat.isFile()) continue
    count++
    bytes += stat.blocks * 512
  }
  return { files: count, bytes }
}

const held = async (daemon: MeasuredDaemon): Promise<Held> => {
  const memory = (await daemon.memoryAtRest()) / MiB
  const places = ['log', 'state'].map(name => kept(join(daemon.dir, name)))
  return {
    memory,
    written: daemon.writtenMemory() / MiB,
    descriptors: daemon.descriptors(),
    threads: daemon.threads(),
    files: places.reduce((sum, place) => sum + place.files, 0),
    disk: places.reduce((sum, place) => sum + place.bytes, 0) / MiB,
  }
}

const families: Readonly<Record<string, (client: Client, number: number) => Promise<void>>> = {
  transfer: files.transfer,
  'in parts': files.inParts,
  'small files': files.small,
  run: processes.run,
  'readers of a log': (client, number) => processes.readLog(client, `ticks-${number}`),
  'idle streams': (client, number) => processes.idle(client, `idle-${number}`),
  interact: (client, number) => processes.interact(client, `cat-${number}`),
  'watched install': files.watchedInstall,
  search: files.search,
  archives: files.archives,
  terminals: processes.terminals,
  tools: processes.tools,
  code: processes.code,
  pages: processes.pages,
  abuse: files.abuse,
}

const round = async (daemon: MeasuredDaemon, number: number): Promise<void> => {
  const client = openClient(daemon.url)
  try {
    for (const [name, work] of Object.entries(families))
      await work(client, number).catch(error => {
        throw new Error(`${name}: ${error instanceof Error ? error.stack : error}`)
      })
  } finally {
    client.close()
  }
}

export const soakBench = async (bench: Bench): Promise<Row[]> => {
  const rounds = Math.max(2, Number(process.env['HUTCH_BENCH_ROUNDS'] ?? defaultRounds))
  const daemon = await measuredDaemon(bench, await startProvider(bench))
  const all: Held[] = []
  for (let number = 1; number <= rounds; number++) {
    await round(daemon, number)
    const now = await held(daemon)
    all.push(now)
    bench.say(
      `round ${number} of ${rounds}: ${now.memory.toFixed(1)} MB (${now.written.toFixed(1)} written), ${now.descriptors} descriptors, ` +
        `${now.threads} threads, ${now.files} files of ${now.disk.toFixed(1)} MB`,
    )
  }
  const [first, middle, last] = [all[0], all[rounds >> 1], all.at(-1)] as [Held, Held, Held]
  return [
    row('soak.memory-after', last.memory, 'MB'),
    row('soak.memory-after.written', last.written, 'MB'),
    // Of what was written: pages of programs come and go with who else maps them. The first round loads what is loaded late.
    row('soak.memory-growth', (last.written - first.written) / (rounds - 1), 'MB'),
    row('soak.memory-growth.later', (last.written - middle.written) / Math.max(1, rounds - 1 - (rounds >> 1)), 'MB'),
    row('soak.descriptors-growth', last.descriptors - first.descriptors, 'files'),
    row('soak.threads-growth', last.threads - first.threads, 'threads'),
    row('soak.kept-on-disk', last.disk, 'MB'),
  ]
}
