/** What every driver that makes snapshots promises. A driver's test opens it and calls `snapshotterSuite`. */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { Driver, Machine, MachineSpec } from '../../control/drivers/driver.ts'
import type { Snapshotter, Still } from '../../control/drivers/snapshotter.ts'

export interface SnapshotSubject {
  readonly driver: Driver
  reopen(): Promise<Driver>
  spec(id: string): MachineSpec
  /** One of which no daemon answers, with the files of `spec`. */
  mute(id: string): MachineSpec
  /** Runs a line as root of the machine. */
  sh(machine: Machine, line: string): Promise<{ code: number; out: string }>
  /** Whatever of a snapshot is left on the box. */
  leftovers(id: string): Promise<string[]>
}

const needed = ({ snapshotter }: Driver): Snapshotter => {
  if (!snapshotter) throw new Error('the driver makes no snapshots')
  return snapshotter
}

const stillness =
  ({ freezer }: Driver, machine: string): Still =>
  async step => {
    await freezer?.freeze(machine)
    try {
      await step()
    } finally {
      await freezer?.thaw(machine)
    }
  }

const write =
  'mkdir -p /work/deep && echo one > /work/deep/file && ln -s deep/file /work/link && chmod 4750 /work/deep/file'
const look = 'cat /work/deep/file; readlink /work/link; busybox stat -c %a:%u /work/deep/file'
const seen = 'one\ndeep/file\n4750:0\n'

export const snapshotterSuite = (t: Test, name: string, open: (t: Test) => Promise<SnapshotSubject>): void => {
  const begin = async (t: Test) => {
    const subject = await open(t)
    const { driver, spec, sh } = subject
    const source = randomUUID()
    const machine = await driver.create(spec(source))
    await sh(machine, write)
    const cut = async (id: string, on = driver) => {
      await needed(on).prepare(id, source)
      return needed(on).commit(id, source, stillness(on, source))
    }
    return { ...subject, source, machine, cut }
  }

  t.test(`${name}: a snapshot is made of a machine that runs on, and a new machine has its files`, async t => {
    const { driver, spec, sh, machine, cut, source, leftovers } = await begin(t)
    const [id, fork] = [randomUUID(), randomUUID()]
    const { pauseMs, bytes } = await cut(id)
    t.ok(pauseMs > 0, `it stood still for ${pauseMs} ms`)
    t.ok(bytes > 0, `${bytes} bytes`)
    t.equal(await needed(driver).usage(id), bytes)
    await sh(machine, 'echo two > /work/deep/file')
    await needed(driver).mount(id, fork)
    const forked = await driver.create(spec(fork))
    t.equal((await sh(forked, look)).out, seen, 'what was there at the cut, with links, modes and owners')
    t.equal((await sh(machine, 'cat /work/deep/file')).out, 'two\n', 'the source has gone on')
    await sh(forked, 'echo three > /work/deep/file')
    t.equal((await sh(machine, 'cat /work/deep/file')).out, 'two\n', 'they write apart')
    t.equal(await needed(driver).origin(fork), id)
    t.equal(await needed(driver).origin(source), undefined)
    await driver.remove(source)
    await needed(driver).mount(id, source)
    t.equal((await sh(await driver.create(spec(source)), look)).out, seen, 'it outlives its source')
    await needed(driver).remove(id)
    t.same(await leftovers(id), [])
    await driver.end(fork)
    t.equal((await sh(await driver.create(spec(fork)), 'cat /work/deep/file')).out, 'three\n', 'machines outlive it')
  })

  t.test(
    `${name}: a driver that is opened anew has its snapshots; drafts are listed as such, and can be removed`,
    async t => {
      const { driver, cut, source, reopen, leftovers } = await begin(t)
      const [id, draft] = [randomUUID(), randomUUID()]
      await cut(id)
      await needed(driver).prepare(draft, source)
      const again = await reopen()
      const listed = (await needed(again).list()).toSorted((a, b) => Number(b.committed) - Number(a.committed))
      t.same(listed, [
        { id, committed: true },
        { id: draft, committed: false },
      ])
      t.equal(await needed(again).usage(draft), undefined)
      const { bytes } = await cut(id, again)
      t.equal(await needed(again).usage(id), bytes, 'a commit that is repeated changes nothing')
      for (const one of [id, draft]) await needed(again).remove(one)
      await needed(again).remove(id)
      t.same([...(await needed(again).list()), ...(await leftovers(id)), ...(await leftovers(draft))], [])
      for (const verb of ['mount', 'restore'] as const)
        await t.rejects(needed(again)[verb](id, randomUUID()), { code: 'not_found' }, `${verb} of one that is gone`)
      await t.rejects(needed(again).view(id), { code: 'not_found' })
    },
  )

  t.test(`${name}: what told a machine from others is not in a copy of it`, async t => {
    const { driver, spec, sh, machine, cut } = await begin(t)
    const [id, fork] = [randomUUID(), randomUUID()]
    const keys =
      'for at in rsa ed25519; do echo secret > /etc/ssh/ssh_host_${at}_key; done; echo mine > /etc/ssh/sshd_config'
    await sh(machine, `mkdir -p /etc/ssh /var/lib/dbus; ${keys}; echo 1234 > /var/lib/dbus/machine-id`)
    await cut(id)
    await needed(driver).mount(id, fork)
    const forked = await driver.create(spec(fork))
    const { out } = await sh(forked, 'cat /etc/ssh/sshd_config; busybox grep -l secret /etc/ssh/*; ls /var/lib/dbus')
    t.equal(out, 'mine\n', 'neither keys nor ids')
    // A link in the place of a directory leads nowhere outside.
    await sh(machine, 'busybox rm -rf /etc/ssh && ln -s /root /etc/ssh && echo kept > /root/ssh_host_rsa_key')
    const [other, last] = [randomUUID(), randomUUID()]
    await cut(other)
    await needed(driver).mount(other, last)
    t.equal((await sh(await driver.create(spec(last)), 'cat /root/ssh_host_rsa_key')).out, 'kept\n')
  })

  t.test(
    `${name}: a machine goes back to a snapshot, and keeps what it has when it does not come up with that`,
    async t => {
      const { driver, spec, mute, sh, machine, cut, source, leftovers } = await begin(t)
      const id = randomUUID()
      await cut(id)
      await sh(machine, 'echo two > /work/deep/file; echo more > /work/more')
      await needed(driver).restore(id, source)
      t.equal((await sh(machine, 'cat /work/more')).out, 'more\n', 'it goes on until it is started anew')
      await driver.end(source)
      await t.rejects(driver.create(mute(source)), 'a start that fails')
      const back = await driver.create(spec(source))
      t.equal((await sh(back, 'cat /work/deep/file /work/more')).out, 'two\nmore\n', 'has what it had')
      t.equal(await needed(driver).origin(source), undefined)
      await needed(driver).restore(id, source)
      await driver.end(source)
      const restored = await driver.create(spec(source))
      t.equal((await sh(restored, `${look}; ls /work`)).out, `${seen}deep\nlink\n`, 'has what it had then')
      t.equal(await needed(driver).origin(source), id)
      t.same(await leftovers(`${source}/previous`), [])
      await sh(restored, 'echo last > /work/deep/file')
      await needed(driver).restore(id, source)
      t.same(await needed(driver).laid(), [source])
      await needed(driver).forsake(source)
      await driver.end(source)
      const kept = await driver.create(spec(source))
      t.equal((await sh(kept, 'cat /work/deep/file')).out, 'last\n', 'what was forsaken is not taken')
      t.same(await needed(driver).laid(), [])
    },
  )

  t.test(`${name}: a view says what is in a snapshot`, async t => {
    const { driver, sh, machine, cut } = await begin(t)
    const id = randomUUID()
    await sh(machine, 'mkdir /work/empty; busybox rm -rf /bin/ls; printf "a\\0b" > "/work/odd name"')
    await cut(id)
    const view = await needed(driver).view(id)
    t.match(view.files.get('work/deep/file'), { type: 'file', size: 4, opaque: false })
    t.match(view.files.get('work/empty'), { type: 'directory' })
    t.match(view.files.get('work/link'), { type: 'link' })
    t.match(view.files.get('bin/ls'), { type: 'gone' })
    t.equal(String(await view.read('work/deep/file', 100)), 'one\n')
    t.equal(String(await view.read('work/deep/file', 2)), 'on')
    t.same(await view.read('work/odd name', 100), Buffer.from('a\0b'))
    t.equal(await view.read('work/link', 100), undefined)
    t.equal(await view.read('../snapshot.json', 100), undefined)
    t.equal(view.truncated, false)
  })
}
