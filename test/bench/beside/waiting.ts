/** The memory of a thousand streams that wait, in processes that have done nothing else: what one keeps of earlier work would hide it. */
import { memoryOf } from '../child.ts'
import type { Bench } from '../measure.ts'
import { row, type Row } from '../report.ts'
import { startContestants, type Contestants } from './contestants.ts'
import { count, endIdle, openAll, startIdle } from './open-streams.ts'

/** The daemon gives memory back ten seconds after its last work. */
const restMs = 11_000

const rest = (): Promise<void> => new Promise(resolve => setTimeout(resolve, restMs))

export const waiting = async (bench: Bench, _all: Contestants): Promise<Row[]> => {
  const { ours, node, go } = await startContestants(bench)
  await startIdle(ours.port)
  const all = [ours, node, go].filter(one => one !== undefined)
  const memory = () => all.map(({ pid }) => memoryOf(pid))
  await rest()
  const before = memory()
  const sockets = []
  for (const { port } of all) sockets.push(...(await openAll(port)))
  await rest()
  const kept = memory().map((bytes, index) => (bytes - (before[index] as number)) / count / 1024)
  for (const socket of sockets) socket.destroy()
  await endIdle(ours.port)
  const [mine = 0, ...others] = kept
  return others.map((theirs, index) =>
    row(`beside.idle-stream.memory.against-${node && index === 0 ? 'node' : 'go'}`, mine, 'KiB', theirs),
  )
}
