import '../../support/native.ts'
import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createEnvironment } from '../../../daemon/environment.ts'
import { createReaper } from '../../../daemon/init/reaper.ts'
import { nativePtyOpener } from '../../../daemon/native/pty/pty.ts'
import { readStat } from '../../../daemon/proc/stat.ts'
import { createSessions, type Attachment } from '../../../daemon/terminal/sessions.ts'
import { systemClock } from '../../../shared/clock.ts'
import { silentLog as log } from '../../../shared/log.ts'
import { fakeClock } from '../../support/clock.ts'
import { until } from '../../support/processes.ts'

const minute = 60_000

const make = (t: Test) => {
  const clock = fakeClock()
  const reaper = createReaper({ clock: systemClock(), log })
  const environment = createEnvironment({ PATH: '/usr/bin:/bin', SHELL: '/bin/sh', PS1: '$ ' })
  const all = createSessions({
    clock,
    log,
    environment,
    identity: () => undefined,
    reaper,
    opener: nativePtyOpener,
    cwd: '/',
  })
  const awake = setInterval(() => {}, 1_000)
  t.teardown(() => {
    all.close()
    reaper.close()
    clearInterval(awake)
  })
  const attach = (sessionId = 'one', shell?: string) => {
    let shown = ''
    const wanted = { sessionId, shell, workingDir: undefined, cols: 80, rows: 24 }
    const attached: Attachment = all.attach(wanted, { output: text => (shown += text), ended: () => undefined })
    const says = (text: string) => until(text, () => shown.includes(text))
    return { ...attached, says, shown: () => shown }
  }
  /** Its pid is free again, or that of a zombie that its new parent has not waited for. */
  const gone = (pid: number) => until(`the end of ${pid}`, () => /^([ZX]|)$/.test(readStat(pid)?.state ?? ''))
  return { clock, attach, gone }
}

t.test('a session nobody looks at ends after ten minutes, and not before', async t => {
  const { clock, attach, gone } = make(t)
  const first = attach()
  first.input('echo up-$((1+1))\r')
  await first.says('up-2')
  await clock.tick(60 * minute)
  t.ok(existsSync(`/proc/${first.pid}`), 'somebody looks')
  first.detach()
  await clock.tick(9 * minute)
  t.ok(existsSync(`/proc/${first.pid}`), 'not yet')
  const again = attach()
  t.equal(again.pid, first.pid)
  t.match(again.shown(), /up-2/)
  again.detach()
  await clock.tick(9 * minute)
  t.ok(existsSync(`/proc/${first.pid}`), 'counted anew')
  await clock.tick(2 * minute)
  await gone(first.pid)
  t.not(attach().pid, first.pid)
})

t.test('what ignores every signal, in a group of its own, ends with its session', async t => {
  const { clock, attach, gone } = make(t)
  const session = attach()
  session.input(`trap '' HUP TERM INT; set -m; sh -c "trap '' HUP TERM; echo child-\\$\\$.; exec sleep 1000" &\r`)
  await until('the child', () => /child-\d+\./.test(session.shown()))
  const child = Number(/child-(\d+)\./.exec(session.shown())?.[1])
  session.detach()
  await clock.tick(11 * minute)
  await Promise.all([gone(session.pid), gone(child)])
  t.pass('both are gone')
})

t.test('a shell by its name is looked for where no tenant writes, never in PATH', async t => {
  const { attach } = make(t)
  const named = attach('named', 'sh')
  named.input('echo name-$((2+2))\r')
  await named.says('name-4')
  t.throws(() => attach('none', 'no-such-shell'), { code: 'ENOENT' })
})
