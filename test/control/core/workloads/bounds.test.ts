/** How long a call lasts: without a byte either way, and in total. */
import t from 'tap'
import { createWatcher, usualBounds } from '../../../../control/server/proxy/calls/bounds.ts'
import { isError } from '../../../../shared/errors.ts'
import { fakeClock } from '../../../support/clock.ts'

const watched = () => {
  const clock = fakeClock()
  const socket = { bytesRead: 0, bytesWritten: 0 }
  const watcher = createWatcher(clock, usualBounds)
  const watch = watcher.watch({ socket } as never)
  return { socket, watch, pass: (seconds: number) => clock.tick(seconds * 1_000) }
}

t.test('100 seconds without a byte end it, and each byte begins them anew', async t => {
  const { socket, watch, pass } = watched()
  await pass(99)
  t.notOk(watch.signal.aborted)
  socket.bytesWritten += 1
  await pass(99)
  t.notOk(watch.signal.aborted)
  await pass(3)
  t.ok(isError(watch.signal.reason, 'timed_out'))
})

t.test('15 minutes end it whatever passes', async t => {
  const { socket, watch, pass } = watched()
  for (let minute = 0; minute < 14; minute++) {
    socket.bytesRead += 1
    await pass(60)
  }
  t.notOk(watch.signal.aborted)
  socket.bytesRead += 1
  await pass(62)
  t.ok(isError(watch.signal.reason, 'timed_out'))
})

t.test('one that is over is not looked at', async t => {
  const { watch, pass } = watched()
  watch.stop()
  await pass(1_000)
  t.notOk(watch.signal.aborted)
})
