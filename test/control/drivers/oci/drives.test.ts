/** Mounting in real machines, below the rules: what the driver itself refuses. */
import { chmodSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Mounter } from '../../../../control/drivers/driver.ts'
import { innermostPid } from '../../../../control/drivers/oci/drives/first-process.ts'
import { parseMountinfo, visible } from '../../../../shared/drives/mountinfo.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../support/oci.ts'

t.test('the first process is number 1 in the innermost namespace', async t => {
  t.equal(innermostPid('Name:\tnode\nNSpid:\t4711\t1\nNSpgid:\t4711\t1\n'), 1)
  t.equal(innermostPid('NSpid:\t4711\t30\t17\n'), 17)
  t.equal(innermostPid('NSpid:\t4711\n'), undefined, 'no namespace of its own')
  t.equal(innermostPid(''), undefined)
})

const why = whyNoMachines()
t.test('in a real machine', { skip: why ?? false }, async t => {
  const dir = realpathSync(t.testdir())
  const base = join(dir, 'drives')
  mkdirSync(join(base, 'w/data'), { recursive: true })
  chmodSync(base, 0o700)
  writeFileSync(join(base, 'w/data/file'), 'text')
  const box = await openBox(t, makeKit(join(dir, 'kit')), { settings: { slotsAhead: 1 } })
  const mounter = box.driver.mounter as Mounter
  const wanted = { base, drive: 'w/data', drivePath: '/', mountPath: '/mnt/x', readOnly: true }
  await t.rejects(mounter.mount('a', wanted), { code: 'busy' }, 'there is no such machine')
  const machine = await box.driver.create(box.spec('a'))
  const entryAt = async (mountPath: string) =>
    visible(parseMountinfo(await mounter.table('a'))).find(({ mountPoint }) => mountPoint === mountPath)

  await box.driver.freezer?.freeze('a')
  await mounter.mount('a', wanted)
  t.match(await entryAt('/mnt/x'), { readOnly: true }, 'a frozen machine is mounted into like any other')
  await box.driver.freezer?.thaw('a')
  t.equal((await sh(machine, 'cat /mnt/x/file')).out, 'text')

  const { id: mountId = 0 } = (await entryAt('/mnt/x')) ?? {}
  await t.rejects(mounter.unmount('a', { mountId: mountId + 1, mountPath: '/mnt/x' }), { code: 'operation_failed' })
  await t.rejects(mounter.unmount('a', { mountId, mountPath: '/mnt' }), { code: 'operation_failed' })
  await t.rejects(mounter.unmount('a', { mountId, mountPath: '/mnt/x/../x' }), { code: 'operation_failed' })
  t.ok(await entryAt('/mnt/x'), 'another number or place unmounts nothing')
  await mounter.unmount('a', { mountId, mountPath: '/mnt/x' })
  t.equal(await entryAt('/mnt/x'), undefined)

  for (const drive of ['w/../w/data', '../drives/w/data', 'w/none', 'w/data/file'])
    await t.rejects(mounter.mount('a', { ...wanted, drive }), { code: 'not_found' }, drive)
  for (const mountPath of ['/tmp/../../x', '/bin/sh'])
    await t.rejects(mounter.mount('a', { ...wanted, mountPath }), { code: 'invalid_argument' }, mountPath)
  const long = `/${'d/'.repeat(1_500)}end`
  await mounter.mount('a', { ...wanted, drivePath: long, readOnly: false })
  t.ok(await entryAt('/mnt/x'), 'a path of more names than there are descriptors')

  await sh(machine, 'kill -TERM 1').catch(() => undefined)
  const deadline = performance.now() + 30_000
  while ((await box.driver.list())[0]?.phase !== 'stopped' && performance.now() < deadline)
    await new Promise(resolve => setTimeout(resolve, 20))
  await t.rejects(mounter.mount('a', wanted), { code: 'busy' }, 'nothing is mounted where nothing runs')
  await box.driver.create(box.spec('a'))
  t.equal(await entryAt('/mnt/x'), undefined, 'mounts end with the machine')
  rmSync(base, { recursive: true })
  await t.rejects(mounter.mount('a', wanted), { code: 'not_found' })
})
