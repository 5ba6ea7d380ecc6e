/** Waits for the daemon of a machine to answer. */
import { connect } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'

export interface ReadyInput {
  readonly host: string
  readonly port: number
  /** Says that the first process has ended, so that nobody waits for the dead. */
  readonly hasEnded: () => Promise<boolean>
  /** What it said before it ended. */
  readonly lastWords: () => Promise<string>
  readonly signal?: AbortSignal | undefined
}

const boundMs = 60_000
/** No daemon is up sooner; asking then would only take the processor from it. */
const firstMs = 15
/** At first every 3 ms; later a twentieth of the time it took so far, so that a busy box is not kept busy by asking. */
const betweenMs = (elapsedMs: number): number => Math.min(50, Math.max(3, elapsedMs / 20))

/** One try: true when something that speaks HTTP answers. No more than the first piece of it is read. */
const answers = (host: string, port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect({ host, port, noDelay: true })
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(10_000, () => end(false))
    socket.on('error', () => end(false))
    socket.on('close', () => end(false))
    socket.on('connect', () => socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'))
    socket.once('data', piece => end(piece.toString('latin1').startsWith('HTTP/1.')))
  })

/** Tries again and again: a refused connection on a local link costs less than any signal that would have to be set up. */
export const untilReady = async (input: ReadyInput, clock: Clock): Promise<void> => {
  const { host, port, hasEnded, lastWords, signal } = input
  const start = clock.elapsed()
  await clock.sleep(firstMs, signal)
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted()
    if (await answers(host, port)) return
    if (tries % 10 === 0 && (await hasEnded()))
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'boot',
        reason: `the first process ended before it answered: ${await lastWords()}`,
      })
    const elapsed = clock.elapsed() - start
    if (elapsed > boundMs)
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'boot',
        reason: `no answer at ${host}:${port} within ${boundMs} ms: ${await lastWords()}`,
      })
    await clock.sleep(betweenMs(elapsed), signal)
  }
}
