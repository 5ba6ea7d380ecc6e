import '../../support/native.ts'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { createReaper, type Exit } from '../../../daemon/init/reaper.ts'
import { spawnProcess } from '../../../daemon/native/spawn/spawn.ts'
import { kill } from '../../../daemon/native/sys/sys.ts'
import { readStat } from '../../../daemon/proc/stat.ts'
import { systemClock } from '../../../shared/clock.ts'
import { silentLog } from '../../../shared/log.ts'

const env = { PATH: '/usr/bin:/bin' }
const shell = (script: string) => ({ file: '/bin/sh', args: ['sh', '-c', script], env, descriptors: [-1, -1, -1] })
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const unshare = ['--pid', '--fork', '--kill-child', '--mount-proc', '--'] as const
const skip = spawnSync('/usr/bin/unshare', [...unshare, '/bin/true']).status === 0 ? false : 'needs root'

t.test('orphans that fall to us are reaped and reported to nobody', { skip }, t => {
  const program = join(import.meta.dirname, '../../programs/orphans.ts')
  const { stdout, stderr } = spawnSync('/usr/bin/unshare', [...unshare, process.execPath, program], {
    encoding: 'utf8',
  })
  t.equal(stdout, '{"own":0,"orphan":9}\n', stderr)
  t.end()
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

/** A child of node:child_process that has ended, and of whose end libuv has not heard yet. */
const endedChild = (code: number): ChildProcess => {
  const child = spawn('/bin/sh', ['-c', `exit ${code}`])
  const pause = new Int32Array(new SharedArrayBuffer(4))
  // Without a turn of the event loop.
  while (readStat(child.pid as number)?.state !== 'Z') Atomics.wait(pause, 0, 0, 5)
  return child
}

t.test('children of node:child_process are left to it, and ours do not wait for that', async t => {
  const reaper = createReaper({ clock: { ...systemClock(), every: () => () => {} }, log: silentLog })
  t.teardown(() => reaper.close())
  const child = endedChild(5)
  const next = spawnProcess(shell('exit 4'))
  const heard: Exit[] = []
  reaper.watch(next, exit => heard.push(exit))
  while (readStat(next)?.state !== 'Z') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
  process.emit('SIGCHLD', 'SIGCHLD')
  t.match(heard, [{ pid: next, exitCode: 4 }])
  t.equal(readStat(child.pid as number)?.state, 'Z', 'it is still there to be waited for')
  t.strictSame(await once(child, 'exit'), [5, null])
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
  const child = endedChild(8)
  process.emit('SIGCHLD', 'SIGCHLD')
  t.same(looked, [nobody], 'after one that is left to others, each is looked at')
  t.strictSame(await once(child, 'exit'), [8, null])
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
