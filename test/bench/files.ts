/**
 * Files: the time of a small read and write, the speed of large ones, against copying on the same disk and nginx.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { measuredDaemon, type MeasuredDaemon } from './daemon.ts'
import { times, type Bench } from './measure.ts'
import { nginx, noNginx } from './nginx.ts'
import { percentile, row, type Row } from './report.ts'
import { uploads } from './uploads.ts'

const run = promisify(execFile)
const agent = new Agent({ keepAlive: true })
const megabytes = 256
const rounds = 3

const ask = async (
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Buffer> => {
  const { method = 'GET', headers = {}, body } = options
  const asked = request(url, { method, agent, headers })
  asked.end(body)
  const [answer] = await once(asked, 'response')
  const bytes = await buffer(answer)
  if (answer.statusCode !== 200) throw new Error(`${method} ${url}: ${answer.statusCode} ${bytes}`)
  return bytes
}

/** Megabytes a second of the best of a few runs. */
const speed = async (task: () => Promise<unknown>): Promise<number> =>
  megabytes / (Math.min(...(await times(rounds, task))) / 1000)

const small = async (_bench: Bench, daemon: MeasuredDaemon): Promise<Row[]> => {
  const url = `${daemon.url}/filesystem/small.txt`
  const body = JSON.stringify({ content: 'hello world' })
  const write = () => ask(url, { method: 'PUT', body })
  const read = () => ask(url)
  const nothing = () => ask(`${daemon.url}/health`)
  for (const warm of [write, read, nothing]) await times(500, warm)
  const floor = percentile(await times(1_000, nothing), 0.5)
  return [
    row('files.json-write.p50', percentile(await times(1_000, write), 0.5), 'ms', floor),
    row('files.json-read.p50', percentile(await times(1_000, read), 0.5), 'ms', floor),
  ]
}

const curl = (...args: string[]) => run('curl', ['-sSf', '-o', '/dev/null', ...args])

const downloads = async (bench: Bench, daemon: MeasuredDaemon): Promise<Row[]> => {
  const { dir, url } = daemon
  const path = join(dir, 'large.bin')
  if (!existsSync(path)) return []
  const rival = await nginx(bench, '', `root ${dir};`)
  if (!rival) bench.skip('files.download: floor', noNginx)
  const theirs = rival ? await speed(() => curl(`${rival.url}/large.bin`)) : null
  return [row('files.download', await speed(() => curl(`${url}/filesystem/large.bin?download=true`)), 'MB/s', theirs)]
}

export const filesBench = async (bench: Bench): Promise<Row[]> => {
  const daemon = await measuredDaemon(bench)
  bench.later('agent', () => agent.destroy())
  const rows: Row[] = []
  for (const [name, measure] of Object.entries({ small, uploads, downloads })) {
    bench.say(name)
    rows.push(...(await measure(bench, daemon)))
  }
  return [...rows, row('files.memory-after', (await daemon.memoryAtRest()) / 1024 / 1024, 'MB')]
}
