/** A box that cannot give machines users of their own: here by data on a file system that maps no ids. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  chooseRuntime,
  type ChoiceDeps,
  type RuntimeChoice,
} from '../../../../../control/drivers/oci/probe/choose-runtime.ts'
import { probeOci } from '../../../../../control/drivers/oci/probe.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { silentLog, type Log } from '../../../../../shared/log.ts'
import { whyNoMachines } from '../../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../../support/oci.ts'
import { whyNoOwnUsers } from '../../../../support/users.ts'
import { skipFile } from '../../../../support/skip-file.ts'

skipFile(await whyNoOwnUsers(t.testdir()))

const kit = makeKit(t.testdir())
const plain = mkdtempSync(join(tmpdir(), 'hutch-plain-'))
execFileSync('mount', ['-t', 'ramfs', 'hutch-test', plain])
t.teardown(() => {
  execFileSync('umount', ['--lazy', plain])
  rmdirSync(plain)
})
// Where the data directories of the boxes here are made.
process.env['TMPDIR'] = plain

const noting = (lines: object[]): Log => ({
  ...silentLog,
  with: () => noting(lines),
  warn: (event, about) => void lines.push({ event, ...about }),
})

t.test('machines share the users of the box there, which is said', async t => {
  const lines: object[] = []
  const box = await openBox(t, kit, { settings: { slotsAhead: 1 }, log: noting(lines) })
  t.match(
    lines.filter(line => 'event' in line && line.event === 'users.shared'),
    [{ reason: /cannot be shown under other ids/, next: /root of every sandbox is user 0 of the box/ }],
  )
  const machine = await box.driver.create(box.spec('a'))
  t.match((await sh(machine, 'cat /proc/self/uid_map')).out, / 0 +0 +4294967295/)
  const mounts = (await sh(machine, 'cat /proc/self/mountinfo')).out
  for (const path of [box.dataDir, kit.rootfs, kit.bundleDir])
    t.notOk(mounts.includes(path), `${path} is not in its table of mounts`)
})

t.test('an operator who insists is refused, and nothing is left', async t => {
  await t.rejects(openBox(t, kit, { settings: { userNamespaces: 'on' } }), {
    code: 'driver_failed',
    message: /HUTCH_USER_NAMESPACES=on.*cannot be shown under other ids/,
  })
})

t.test('crun is taken unasked where it serves as well as any', { skip: whyNoMachines('crun') ?? false }, async t => {
  const lines: object[] = []
  const log = { ...noting(lines), info: (event: string, about?: object) => void lines.push({ event, ...about }) }
  const choice = (more: Partial<RuntimeChoice>, deps: Partial<ChoiceDeps> = {}) =>
    chooseRuntime(
      { dataDir: t.testdirName, runtime: 'auto', bundleDir: kit.bundleDir, ...more },
      { clock: systemClock(), log, ...deps },
    )
  const chosen = async (...given: Parameters<typeof choice>) => (await choice(...given)).runtime
  t.same(await choice({ dataDir: t.testdir() }), { runtime: 'crun', hasOwnUsers: true })
  t.same(await choice({ dataDir: plain, userNamespaces: 'off' }), { runtime: 'crun', hasOwnUsers: false }, 'not tried')
  for (const runtime of ['runc', 'runsc']) t.equal(await chosen({ runtime }), runtime, 'what is configured is taken')
  t.same(lines, [])
  t.equal(await chosen({ dataDir: plain }), 'runc')
  t.match(lines, [{ event: 'runtime.runc', reason: /cannot be shown under other ids/ }])
  const ofVersion = (said: string) => chosen({ dataDir: t.testdirName }, { crunSays: async () => said })
  t.equal(await ofVersion('crun version 1.7.2\ncommit: abc\n'), 'runc')
  t.equal(await ofVersion('crun version 0.17\n'), 'runc')
  t.equal(await ofVersion('crun version UNKNOWN\n'), 'runc')
  t.match(lines.slice(1), [
    { reason: /^crun 1\.7 is older/ },
    { reason: /0\.17 is/ },
    { reason: /says "crun version UNK/ },
  ])
  const broken = { crunSays: () => Promise.reject(new Error('libyajl.so.2: cannot open')) }
  t.equal(await chosen({ dataDir: t.testdirName }, broken), 'runc', 'one that cannot be started')
  t.match(lines.at(-1), { reason: 'libyajl.so.2: cannot open' })
  t.equal(await ofVersion('crun version 1.14.4\n'), 'crun')
  t.equal(await ofVersion('crun version 2.0\n'), 'crun')
})

t.test('what the doctor says', async t => {
  const config = { dataDir: plain, runtime: 'runc', bundleDir: kit.bundleDir }
  const deps = { clock: systemClock() }
  const shared = /what the kernel counts by user/
  const cannot = await probeOci(config, deps)
  t.equal(cannot.usable, true)
  t.match(
    cannot.findings.find(({ what }) => what.startsWith('users of their own')),
    { ok: false, next: /ext4 or xfs/ },
  )
  t.match(cannot.doesNotProtect.join(), shared)
  t.equal((await probeOci({ ...config, userNamespaces: 'on' }, deps)).usable, false)
  const can = await probeOci({ ...config, dataDir: t.testdir() }, deps)
  t.match(can.protects.join(), /root of a sandbox is nobody outside/)
  t.notMatch(can.doesNotProtect.join(), shared)
  t.match((await probeOci({ ...config, userNamespaces: 'off' }, deps)).doesNotProtect.join(), shared)
})
