/** A thousand streams that wait: how long it takes until all are open, and what opening one costs the server's processor. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { cpuOf } from '../child.ts'
import { inTurns, timeOf, type Bench } from '../measure.ts'
import { percentile, row, type Row } from '../report.ts'
import type { Contestants } from './contestants.ts'

export const count = 1_000
const rounds = 5

/** Bytes are written by hand: a client of `node:http` would cost more than the server. */
const open = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.write('GET /process/idle/logs/stream HTTP/1.1\r\nhost: a\r\n\r\n')
  const [head] = (await once(socket, 'data')) as [Buffer]
  if (!head.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(head.toString('latin1', 0, 200))
  return socket
}

/** To the log of the process `idle`, which says nothing. */
export const openAll = (port: number): Promise<Socket[]> => Promise.all(Array.from({ length: count }, () => open(port)))

export const startIdle = async (port: number): Promise<void> => {
  const body = JSON.stringify({ command: 'sleep 600', name: 'idle' })
  const started = await fetch(`http://127.0.0.1:${port}/process`, { method: 'POST', body })
  if (started.status !== 200) throw new Error(`${started.status} ${await started.text()}`)
  await started.arrayBuffer()
}

export const endIdle = async (port: number): Promise<void> => {
  await fetch(`http://127.0.0.1:${port}/process/idle/kill`, { method: 'DELETE' })
}

export const openStreams = async (_bench: Bench, { ours, node, go }: Contestants): Promise<Row[]> => {
  await startIdle(ours.port)
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
  await endIdle(ours.port)
  const middle = (samples: readonly number[] | undefined) => percentile(samples as number[], 0.5)
  return ['node', 'go']
    .filter(who => times[who])
    .flatMap(who => [
      row(`beside.open-1000-streams.against-${who}`, middle(times['ours']), 'ms', middle(times[who])),
      row(`beside.open-stream.cpu.against-${who}`, middle(costs['ours']), 'µs', middle(costs[who])),
    ])
}
