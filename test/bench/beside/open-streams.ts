/** A thousand streams that wait: how long it takes until all are open, and what one costs the server's processor and memory. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { cpuOf, memoryOf } from '../child.ts'
import { inTurns, timeOf, type Bench } from '../measure.ts'
import { percentile, row, type Row } from '../report.ts'
import type { Contestants } from './contestants.ts'

const count = 1_000
const rounds = 5
/** The daemon gives memory back ten seconds after its last work. */
const restMs = 11_000

/** Bytes are written by hand: a client of `node:http` would cost more than the server. */
const open = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.write('GET /process/idle/logs/stream HTTP/1.1\r\nhost: a\r\n\r\n')
  const [head] = (await once(socket, 'data')) as [Buffer]
  if (!head.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(head.toString('latin1', 0, 200))
  return socket
}

const openAll = (port: number): Promise<Socket[]> => Promise.all(Array.from({ length: count }, () => open(port)))

const rest = (): Promise<void> => new Promise(resolve => setTimeout(resolve, restMs))

/** KiB of memory that each open stream keeps, of everybody at the same time: all have worked and rested, before and after. */
const kept = async (all: readonly { port: number; pid: number }[]): Promise<number[]> => {
  await rest()
  const before = all.map(({ pid }) => memoryOf(pid))
  const sockets: Socket[] = []
  for (const { port } of all) sockets.push(...(await openAll(port)))
  await rest()
  const after = all.map(({ pid }) => memoryOf(pid))
  for (const socket of sockets) socket.destroy()
  return after.map((bytes, index) => (bytes - (before[index] as number)) / count / 1024)
}

export const openStreams = async (_bench: Bench, { ours, node, go }: Contestants): Promise<Row[]> => {
  const base = `http://127.0.0.1:${ours.port}/process`
  const started = await fetch(base, { method: 'POST', body: JSON.stringify({ command: 'sleep 600', name: 'idle' }) })
  if (started.status !== 200) throw new Error(`${started.status} ${await started.text()}`)
  const costs: Record<string, number[]> = {}
  const tasks: Record<string, () => Promise<number>> = {}
  for (const [who, one] of Object.entries({ ours, node, go })) {
    if (!one) continue
    const cost: number[] = []
    costs[who] = cost
    tasks[who] = async () => {
      const before = cpuOf(one.pid)
      const sockets: Socket[] = []
      const ms = await timeOf(async () => {
        sockets.push(...(await openAll(one.port)))
      })
      cost.push(((cpuOf(one.pid) - before) * 1000) / count)
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => setTimeout(resolve, 500))
      return ms
    }
  }
  const times = await inTurns(rounds, tasks)
  const names = ['ours', 'node', 'go'].filter(who => times[who])
  const memory = await kept(names.map(who => ({ ours, node, go })[who] as typeof ours))
  await fetch(`${base}/idle/kill`, { method: 'DELETE' })
  const middle = (samples: readonly number[] | undefined) => percentile(samples as number[], 0.5)
  return names
    .slice(1)
    .flatMap((who, index) => [
      row(`beside.open-1000-streams.against-${who}`, middle(times['ours']), 'ms', middle(times[who])),
      row(`beside.open-stream.cpu.against-${who}`, middle(costs['ours']), 'µs', middle(costs[who])),
      row(`beside.idle-stream.memory.against-${who}`, memory[0] as number, 'KiB', memory[index + 1] as number),
    ])
}
