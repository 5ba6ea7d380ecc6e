import '../../support/native.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createReaper, type Exit } from '../../../daemon/init/reaper.ts'
import { becomeSubreaper, kill, spawnProcess } from '../../../daemon/native/sys/sys.ts'
import { systemClock } from '../../../shared/clock.ts'
import { jsonLog, silentLog } from '../../../shared/log.ts'
import { until } from '../../support/until.ts'

const env = { PATH: '/usr/bin:/bin' }
const shell = (script: string) => ({ file: '/bin/sh', args: ['sh', '-c', script], env, descriptors: [-1, -1, -1] })
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

t.test('orphans that fall to us are reaped and reported to nobody', async t => {
  becomeSubreaper()
  const orphan = Promise.withResolvers<{ exitCode: number }>()
  const write = (line: string) => {
    const entry = JSON.parse(line)
    if (entry.event === 'orphan.reaped') orphan.resolve(entry)
  }
  const reaper = createReaper({ clock: systemClock(), log: jsonLog({ level: 'debug', now: () => 0, write }) })
  t.teardown(() => reaper.close())
  const pid = spawnProcess(shell('(sleep 0.2; exit 9) & exit 0'))
  const exit = await new Promise<Exit>(resolve => reaper.watch(pid, resolve))
  t.equal(exit.exitCode, 0)
  t.equal((await orphan.promise).exitCode, 9)
})

t.test('a burst of ends loses none', async t => {
  const reaper = createReaper({ clock: systemClock(), log: silentLog })
  t.teardown(() => reaper.close())
  const codes = Array.from({ length: 40 }, (_, index) => index)
  const ends = codes.map(code => {
    const pid = spawnProcess(shell(`exit ${code}`))
    return new Promise<Exit>(resolve => reaper.watch(pid, resolve))
  })
  t.strictSame(
    (await Promise.all(ends)).map(exit => exit.exitCode),
    codes,
  )
})

t.test('children of others are left to them', async t => {
  const reaper = createReaper({ clock: systemClock(), log: silentLog })
  t.teardown(() => reaper.close())
  // Started without libuv, so that nobody but the test waits for it.
  const pid = spawnProcess(shell('exit 3'))
  const release = reaper.leave(pid)
  const next = spawnProcess(shell('exit 4'))
  t.match(
    await new Promise<Exit>(resolve => reaper.watch(next, resolve)),
    { exitCode: 4 },
    'others do not wait behind it',
  )
  const child = spawn('/bin/sh', ['-c', 'exit 5'])
  t.strictSame(await once(child, 'exit'), [5, null], 'node:child_process gets its own')
  t.match(readFileSync(`/proc/${pid}/stat`, 'utf8'), / Z /, 'it is still there to be waited for')
  release()
  t.match(await new Promise<Exit>(resolve => reaper.watch(pid, resolve)), { pid, exitCode: 3 })
})

t.test('an end is heard of by its signal, without a look at anybody else', async t => {
  const reaper = createReaper({ clock: { ...systemClock(), every: () => () => {} }, log: silentLog })
  t.teardown(() => reaper.close())
  const looked: number[] = []
  // No child of ours: whoever looks at it says that it is gone.
  const nobody = 2 ** 22 + 1
  reaper.watch(nobody, ({ pid }) => looked.push(pid))
  for (const code of [6, 7]) {
    const pid = spawnProcess(shell(`exit ${code}`))
    t.match(await new Promise<Exit>(resolve => reaper.watch(pid, resolve)), { pid, exitCode: code })
  }
  t.same(looked, [])
  const other = spawnProcess(shell('exit 8'))
  reaper.leave(other)
  await until(async () => / Z /.test(readFileSync(`/proc/${other}/stat`, 'utf8')), 'the other to end')
  const pid = spawnProcess(shell('exit 9'))
  t.match(await new Promise<Exit>(resolve => reaper.watch(pid, resolve)), { pid, exitCode: 9 }, 'nor does it wait')
  t.same(looked, [nobody], 'behind one that is left, each is looked at')
  reaper.leave(other)()
  t.match(await new Promise<Exit>(resolve => reaper.watch(other, resolve)), { exitCode: 8 })
})

t.test('a process that is no child is noticed when it is gone, without its code', async t => {
  const reaper = createReaper({ clock: systemClock(), log: silentLog })
  t.teardown(() => reaper.close())
  const child = spawn('/bin/sleep', ['60'])
  const pid = child.pid as number
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(kill(pid, 0), false)
  const exit = await new Promise<Exit>(resolve => reaper.watch(pid, resolve))
  t.strictSame(exit, { pid, exitCode: null, signal: null })
})
