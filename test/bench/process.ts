/**
 * Processes: the time of an exec, the speed of a log stream, the price of streams that wait, the files for output.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get, request, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { startSpawner, type Spawner } from './child.ts'
import { measuredDaemon, type MeasuredDaemon } from './daemon.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { outputFiles } from './output-files.ts'
import { percentile, row, type Row } from './report.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 2_000 })

const post = async (daemon: MeasuredDaemon, body: object): Promise<IncomingMessage> => {
  const asked = request(`${daemon.url}/process`, { method: 'POST', agent })
  asked.end(JSON.stringify(body))
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return answer
}
const start = async (daemon: MeasuredDaemon, body: object) => JSON.parse(String(await buffer(await post(daemon, body))))

const open = async (daemon: MeasuredDaemon, path: string): Promise<IncomingMessage> => {
  const [answer] = (await once(get(`${daemon.url}${path}`, { agent }), 'response')) as [IncomingMessage]
  return answer
}

const runTrue = { command: 'true', waitForCompletion: true }

/** One after the other. This process forks no more, so that only the daemon's side is ours. */
const execTrue = async (daemon: MeasuredDaemon, spawner: Spawner): Promise<Row[]> => {
  const ways = { direct: () => spawner(), api: () => timeOf(() => start(daemon, runTrue)) }
  await inTurns(300, ways)
  const rounds = 500
  const before = daemon.cpu()
  const { direct, api } = await inTurns(rounds, ways)
  const cpu = (daemon.cpu() - before) / rounds
  return [
    ...[0.5, 0.95].map(share =>
      row(`process.exec-true.p${share * 100}`, percentile(api, share), 'ms', percentile(direct, share)),
    ),
    row('process.exec-true.cpu', cpu, 'ms'),
  ]
}

/** Many at once: how many a second. */
const execParallel = async (daemon: MeasuredDaemon, spawner: Spawner): Promise<Row[]> => {
  const count = 200
  const many = (parallel: number): Promise<number> =>
    timeOf(async () => {
      let left = count
      const one = async () => {
        while (left-- > 0) await start(daemon, runTrue)
      }
      await Promise.all(Array.from({ length: parallel }, one))
    })
  const rows: Row[] = []
  for (const parallel of [10, 100]) {
    const { direct, api } = await inTurns(5, { direct: () => spawner(count, parallel), api: () => many(parallel) })
    const perSecond = (ms: readonly number[]): number => (count * 1_000) / percentile(ms, 0.5)
    rows.push(row(`process.exec-true.parallel-${parallel}`, perSecond(api), 'commands/s', perSecond(direct)))
  }
  return rows
}

const linesPerSecond = async (
  daemon: MeasuredDaemon,
  command: string,
  name: string,
  lines: number,
): Promise<number> => {
  await start(daemon, { command, name })
  const from = performance.now()
  let seen = 0
  for await (const piece of await open(daemon, `/process/${name}/logs/stream`))
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) seen++
  if (seen !== lines) throw new Error(`${seen} of ${lines} lines arrived`)
  return lines / ((performance.now() - from) / 1000)
}

const logStream = async (daemon: MeasuredDaemon): Promise<Row[]> => {
  const lines = 3_000_000
  const command = `seq 1 ${lines}`
  const from = performance.now()
  const piped = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] })
  piped.stdout.resume()
  await once(piped, 'close')
  const floor = lines / ((performance.now() - from) / 1000)
  return [row('process.log-stream', await linesPerSecond(daemon, command, 'live', lines), 'lines/s', floor)]
}

const idleStreams = async (daemon: MeasuredDaemon): Promise<Row[]> => {
  const count = 1_000
  await start(daemon, { command: 'sleep 600', name: 'idle' })
  const streams = await Promise.all(Array.from({ length: count }, () => open(daemon, '/process/idle/logs/stream')))
  await new Promise(resolve => setTimeout(resolve, 1_000))
  const cpu = daemon.cpu()
  await new Promise(resolve => setTimeout(resolve, 5_000))
  const busy = (daemon.cpu() - cpu) / 5
  const rows = [row('process.idle-streams-1000.cpu-per-second', busy, 'ms')]
  for (const stream of streams) stream.destroy()
  await buffer(
    await new Promise<IncomingMessage>(resolve =>
      request(`${daemon.url}/process/idle/kill`, { method: 'DELETE', agent }, resolve).end(),
    ),
  )
  return rows
}

export const processBench = async (bench: Bench): Promise<Row[]> => {
  const daemon = await measuredDaemon(bench, {
    SANDBOX_MAX_LOG_FILE_BYTES: String(256 * 1024 * 1024),
    SANDBOX_MAX_LOG_BYTES_TOTAL: '0',
  })
  bench.later('agent', () => agent.destroy())
  const spawner = await startSpawner(bench)
  const rows: Row[] = []
  for (const [name, measure] of Object.entries({ execTrue, execParallel, logStream, idleStreams })) {
    bench.say(name)
    rows.push(...(await measure(daemon, spawner)))
  }
  bench.say('outputFiles')
  return [...rows, ...(await outputFiles(bench, daemon))]
}
