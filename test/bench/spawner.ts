/**
 * What a command costs without us: `child_process.spawn` of `/bin/sh -c true` in a Node process that does nothing else.
 * In a process of its own, because a process that forks pays for it afterwards, one page after the other, and whoever
 * measures must not. Answers each message of its parent with milliseconds.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface SpawnerAsked {
  readonly count: number
  /** How many run at once. */
  readonly parallel: number
}

const one = () => once(spawn('/bin/sh', ['-c', 'true'], { stdio: 'ignore' }), 'exit')

process.on('message', async ({ count, parallel }: SpawnerAsked) => {
  let left = count
  const from = performance.now()
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (left-- > 0) await one()
    }),
  )
  process.send?.(performance.now() - from)
})
process.once('disconnect', () => process.exit(0))
process.send?.('ready')
