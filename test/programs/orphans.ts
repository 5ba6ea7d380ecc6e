/** As PID 1 of a namespace: starts a process that leaves an orphan, and prints both ends as the reaper tells them. */
import { createReaper } from '../../daemon/init/reaper.ts'
import { spawnProcess } from '../../daemon/native/spawn/spawn.ts'
import { systemClock } from '../../shared/clock.ts'
import { jsonLog } from '../../shared/log.ts'

const reaped = Promise.withResolvers<number>()
const write = (line: string) => {
  const entry = JSON.parse(line) as { event: string; exitCode: number }
  if (entry.event === 'orphan.reaped') reaped.resolve(entry.exitCode)
}
const reaper = createReaper({ clock: systemClock(), log: jsonLog({ level: 'debug', now: () => 0, write }) })
const alive = setInterval(() => {}, 1_000)
const pid = spawnProcess({
  file: '/bin/sh',
  args: ['sh', '-c', '(sleep 0.2; exit 9) & exit 0'],
  env: { PATH: '/usr/bin:/bin' },
  descriptors: [-1, -1, -1],
})
const own = await new Promise<number | null>(resolve => reaper.watch(pid, ({ exitCode }) => resolve(exitCode)))
console.log(JSON.stringify({ own, orphan: await reaped.promise }))
clearInterval(alive)
reaper.close()
