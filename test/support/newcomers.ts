/** Connections of who has not said who they are, more than may wait. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Test } from 'tap'

/** As many as may wait at a listener (`newcomers.ts`). */
const most = 1_024

/** One after the other, so that their order is known. */
const openMany = async (t: Test, count: number, open: () => Socket, ready: string): Promise<Socket[]> => {
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach(socket => socket.destroy()))
  for (let i = 0; i < count; i++) {
    const socket = open().on('error', () => {
      // A reset is one way to be sent away.
    })
    sockets.push(socket.resume())
    await once(socket, ready)
  }
  return sockets
}

/** Whether the oldest of one too many is sent away, and it alone. */
export const oldestGoes = async (t: Test, open: () => Socket, ready = 'connect'): Promise<void> => {
  const [oldest, ...others] = await openMany(t, most, open, ready)
  t.notOk(oldest?.closed, 'so many may wait')
  const gone = once(oldest as Socket, 'close')
  const more = await openMany(t, 1, open, ready)
  await gone
  t.notOk([...others, ...more].some(socket => socket.closed))
}
