import t from 'tap'
import { createHeartbeat } from '../../../daemon/process/heartbeat.ts'
import { systemClock, type Clock } from '../../../shared/clock.ts'

t.test('listeners of one period share a timer, which ends with the last of them', t => {
  const timers: { ms: number; run: () => void; stopped: boolean }[] = []
  const clock: Clock = {
    ...systemClock(),
    every(ms, run) {
      const timer = { ms, run, stopped: false }
      timers.push(timer)
      return () => {
        timer.stopped = true
      }
    },
  }
  const heartbeat = createHeartbeat(clock)
  let beats = 0
  const stops = Array.from({ length: 100 }, () => heartbeat.every(30, () => beats++))
  t.equal(timers.length, 1)
  timers[0]?.run()
  t.equal(beats, 100)
  for (const stop of stops) stop()
  t.equal(timers[0]?.stopped, true)
  heartbeat.every(30, () => beats++)()
  t.equal(timers.length, 2)
  t.end()
})
