/**
 * What every driver promises, whatever it is made of. A driver's test opens it and calls `driverSuite`; all machines
 * are made by ids of this run, so that two runs do not meet.
 */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import type { Test } from 'tap'
import type { Driver, Machine, MachineSpec } from '../../control/drivers/driver.ts'
import { withSwap } from '../support/swap.ts'

export interface Subject {
  readonly driver: Driver
  /** A second driver over the same box, as after a restart of the host process. */
  reopen(): Promise<Driver>
  /** A specification that can be created. */
  spec(id: string): MachineSpec
  /** One that fails half-way, with things already made. */
  broken(id: string): MachineSpec
  /** Looks at a machine that was claimed with the host name `claimed`, twice the memory and a file `claim-test` in /etc. */
  claimed?(t: Test, machine: Machine): Promise<void>
  /**
   * Writes into a machine until it may not, as its root; resolves with what the system said, and the MB that it took. Left out where machines
   * have nothing to write to.
   */
  fill?(machine: Machine): Promise<{ said: string; mb: number }>
  /** Makes empty files in it until it may not; resolves with what the system said. */
  litter?(machine: Machine): Promise<string>
  /** Removes what `fill` has written, and `litter` made. */
  empty?(machine: Machine): Promise<void>
  /** Has a process of the machine remember something the first time; says whether it still knows. */
  remembers?(machine: Machine): Promise<boolean>
  /** Writes `mb` into /tmp, and a word that it gives back after a restart with `mb` 0. */
  tmp?(machine: Machine, mb: number): Promise<string>
  /** Lets the driver promise so much more of the disk and no more, for the rest of the test. */
  withRoom?(mb: number): Promise<Driver>
  /** Whatever of the machine is left on the box, in words; empty when nothing is. */
  leftovers(id: string): Promise<string[]>
}

/** What the system says where nothing more may be written. */
const isFull = /No space left on device|Disk quota exceeded/

/** Nobody listens in what these machines run. */
const tell = async (): Promise<void> => {}

const find = async (driver: Driver, id: string): Promise<Machine | undefined> =>
  (await driver.list()).find(machine => machine.id === id)

/** Resolves when something accepts a connection there. */
const accepts = ({ host, port }: { host: string; port: number }): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    socket.setTimeout(30_000, () => socket.destroy(new Error('no answer within 30 s')))
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
  })

/** What one is made with that is to be claimed; undefined where there are no generic ones. */
const rootOf = (
  { claimer }: Driver,
  what: 'machine' | 'generic machine',
  { rootfs }: MachineSpec,
): string | undefined => (what === 'generic machine' ? claimer?.genericRoot : rootfs)

/** `open` is called once for each test; it registers its own teardown. */
export const driverSuite = (t: Test, name: string, open: (t: Test) => Promise<Subject>): void => {
  t.test(`${name}: a box that can run machines is found usable`, async t => {
    const { driver } = await open(t)
    const probe = await driver.probe()
    t.equal(probe.usable, true, JSON.stringify(probe.findings.filter(finding => !finding.ok)))
    for (const finding of probe.findings) if (!finding.ok) t.ok(finding.next, `${finding.what} says what to do`)
    t.ok(probe.doesNotProtect.length > 0, 'no driver protects against everything')
  })

  t.test(`${name}: a machine is made, listed, measured and removed without a trace`, async t => {
    const { driver, spec, leftovers } = await open(t)
    const id = randomUUID()
    const made = await driver.create(spec(id))
    t.match(made, { id, phase: 'running', address: { host: String, port: Number } })
    t.same(await find(driver, id), made)
    if (made.address) await accepts(made.address)
    const stats = await driver.stats(id)
    t.ok(stats && stats.memoryBytes > 0 && stats.cpuMs >= 0, JSON.stringify(stats))
    await driver.remove(id)
    t.equal(await find(driver, id), undefined)
    t.equal(await driver.stats(id), undefined)
    t.same(await leftovers(id), [])
  })

  t.test(`${name}: every verb may be repeated`, async t => {
    const { driver, spec } = await open(t)
    const id = randomUUID()
    const first = await driver.create(spec(id))
    t.same(await driver.create(spec(id)), first, 'create gives back the one that runs')
    await driver.remove(id)
    await driver.remove(id)
    await driver.remove(randomUUID())
    const again = await driver.create(spec(id))
    t.equal(again.phase, 'running', 'an id can be used again')
    await driver.remove(id)
  })

  t.test(
    `${name}: a failed create is an error that names driver and step, and leaves nothing that remove does not`,
    async t => {
      const { driver, spec, broken, leftovers } = await open(t)
      const id = randomUUID()
      await t.rejects(driver.create(broken(id)), { code: 'driver_failed', details: { driver: String, step: String } })
      t.not((await find(driver, id))?.phase, 'running')
      await driver.remove(id)
      t.equal(await find(driver, id), undefined)
      t.same(await leftovers(id), [])
      t.equal((await driver.create(spec(id))).phase, 'running', 'the same id works when the reason is gone')
      await driver.remove(id)
    },
  )

  t.test(`${name}: an aborted create leaves something that remove cleans up`, async t => {
    const { driver, spec, leftovers } = await open(t)
    for (const turns of [0, 1, 20, 200]) {
      const id = randomUUID()
      const control = new AbortController()
      const creating = driver.create(spec(id), control.signal)
      const settled = creating.then(
        () => 'made',
        () => 'aborted',
      )
      for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
      control.abort(new Error('given up'))
      t.ok(['made', 'aborted'].includes(await settled))
      await driver.remove(id)
      t.same(await leftovers(id), [], `after ${turns} turns of the loop`)
    }
  })

  t.test(`${name}: different machines are made and removed side by side`, async t => {
    const { driver, spec, leftovers } = await open(t)
    const ids = Array.from({ length: 6 }, () => randomUUID())
    const made = await Promise.all(ids.map(id => driver.create(spec(id))))
    const addresses = made.map(({ address }) => `${address?.host}:${address?.port}`)
    t.equal(new Set(addresses).size, ids.length, 'each has an address of its own')
    const listed = (await driver.list()).map(({ id }) => id)
    t.same(
      ids.filter(id => !listed.includes(id)),
      [],
    )
    await Promise.all(ids.map(id => driver.remove(id)))
    for (const id of ids) t.same(await leftovers(id), [])
  })

  t.test(`${name}: machines outlive the host process and are found by id`, async t => {
    const { driver, reopen, spec, leftovers } = await open(t)
    const id = randomUUID()
    const made = await driver.create(spec(id))
    await driver.close()
    const next = await reopen()
    t.same(await find(next, id), made)
    t.same(await next.create(spec(id)), made, 'it is not made a second time')
    await next.remove(id)
    t.same(await leftovers(id), [])
  })

  t.test(`${name}: one that is ended, frozen or not, is listed as stopped and starts again`, async t => {
    const { driver, spec, leftovers } = await open(t)
    const id = randomUUID()
    await driver.end(id)
    t.equal(await find(driver, id), undefined, 'ending makes nothing')
    await driver.create(spec(id))
    await driver.freezer?.freeze(id)
    await driver.end(id)
    await driver.end(id)
    t.same(await find(driver, id), { id, phase: 'stopped' })
    const again = await driver.create(spec(id))
    t.match(again, { id, phase: 'running', address: { host: String } })
    if (again.address) await accepts(again.address)
    await driver.end(id)
    await driver.remove(id)
    t.same(await leftovers(id), [])
  })

  t.test(`${name}: a frozen machine is listed as such, thaws, and can be removed frozen`, async t => {
    const { driver, spec, leftovers } = await open(t)
    const { freezer } = driver
    if (!freezer) {
      t.pass('cannot freeze')
      return
    }
    const id = randomUUID()
    const made = await driver.create(spec(id))
    await freezer.freeze(id)
    await freezer.freeze(id)
    t.equal((await find(driver, id))?.phase, 'frozen')
    await freezer.thaw(id)
    await freezer.thaw(id)
    t.same(await find(driver, id), made)
    await freezer.freeze(id)
    await driver.remove(id)
    t.same(await leftovers(id), [])
    await t.rejects(freezer.freeze(id), { code: 'driver_failed' })
    await t.rejects(freezer.thaw(id), { code: 'driver_failed' })
  })

  t.test(`${name}: the memory of a frozen machine is given back, and is there again when it thaws`, async t => {
    const { driver, spec, leftovers, remembers } = await open(t)
    const { freezer } = driver
    if (!freezer?.reclaim || !(await withSwap(t))) {
      t.pass('cannot put memory away')
      return
    }
    const id = randomUUID()
    const made = await driver.create(spec(id))
    await remembers?.(made)
    const bytes = async () => (await driver.stats(id))?.memoryBytes ?? Infinity
    await freezer.freeze(id)
    const before = await bytes()
    await freezer.reclaim(id, AbortSignal.abort())
    t.ok((await bytes()) > before * 0.9, 'not when it is wanted')
    await freezer.reclaim(id, AbortSignal.timeout(30_000))
    const after = await bytes()
    t.ok(after < before / 2, `${after} bytes of ${before}`)
    t.equal((await find(driver, id))?.phase, 'frozen')
    await freezer.thaw(id)
    t.same(await find(driver, id), made)
    if (remembers) t.ok(await remembers(made), 'it has what it had')
    await driver.remove(id)
    t.same(await leftovers(id), [])
  })

  t.test(`${name}: /tmp is on the disk: it takes more than the memory, and is there after a restart`, async t => {
    const { driver, spec, tmp, leftovers } = await open(t)
    if (!tmp) {
      t.pass('has no files')
      return
    }
    const id = randomUUID()
    const given = { ...spec(id), storageMb: 2 * spec(id).memoryMb }
    t.equal(await tmp(await driver.create(given), given.memoryMb + 64), 'kept\n')
    t.equal((await find(driver, id))?.phase, 'running')
    await driver.end(id)
    t.equal(await tmp(await driver.create(given), 0), 'kept\n')
    await driver.remove(id)
    t.same(await leftovers(id), [])
  })

  for (const what of ['machine', 'generic machine'] as const)
    t.test(
      `${name}: a ${what} that was made for nobody is given to somebody, and one that is somebody's is not`,
      async t => {
        const { driver, spec, leftovers, claimed } = await open(t)
        const { claimer } = driver
        const rootfs = rootOf(driver, what, spec(''))
        if (!claimer || rootfs === undefined) {
          t.pass('cannot give machines to others')
          return
        }
        const [id, other] = [randomUUID(), randomUUID()]
        const made = await driver.create({ ...spec(id), rootfs, anonymous: true })
        await driver.freezer?.freeze(id)
        const { memoryMb } = spec(id)
        const wanted = { ...spec(id), hostname: 'claimed', memoryMb: memoryMb * 2, etc: { 'claim-test': 'yes\n' } }
        const phases: (string | undefined)[] = []
        const look = async (machine: Machine) => {
          t.same(machine, made)
          phases.push((await find(driver, id))?.phase)
        }
        t.same(await claimer.claim(wanted, look), made, 'it runs, where it did')
        t.equal(phases.length, 1, 'its daemon is told, once')
        // One that becomes another image's is known to be whole after that.
        if (what === 'machine') t.same(phases, ['running'], 'when it can hear')
        t.same(await claimer.claim(wanted, tell), made, 'which may be repeated')
        t.same(await find(driver, id), made)
        await claimed?.(t, made)
        const deaf = claimer.claim(wanted, async () => {
          throw new Error('it does not hear')
        })
        await t.rejects(deaf, /it does not hear/, 'one whose daemon cannot be told')
        await driver.create(spec(other))
        await t.rejects(claimer.claim(spec(other), tell), { code: 'driver_failed' })
        await t.rejects(claimer.claim(spec(randomUUID()), tell), { code: 'driver_failed' })
        t.equal((await find(driver, other))?.phase, 'running')
        await driver.remove(id)
        await driver.remove(other)
        t.same(await leftovers(id), [])
      },
    )

  t.test(`${name}: a machine writes what it was promised and no more, and keeps it over a restart`, async t => {
    const { driver, spec, leftovers, fill, litter, empty } = await open(t)
    const { storage } = driver
    if (!fill || !litter || !empty) {
      t.pass('has nothing to write to')
      return
    }
    if (!storage) throw new Error('this driver has no quotas here')
    const id = randomUUID()
    const full = async (machine: Machine, most: number, what: string) => {
      const { said, mb } = await fill(machine)
      t.match(said, isFull, what)
      t.ok(mb > most * 0.7 && mb <= most, `${what}: ${mb} of ${most} MB`)
    }
    const made = await driver.create({ ...spec(id), storageMb: 64 })
    t.ok(((await storage.room()).promised.get(id) ?? 0) >= 64, 'it was promised that')
    const usedMb = async () => ((await storage.share(id))?.usedBytes ?? Number.NaN) / 1024 ** 2
    t.ok((await usedMb()) < 8, 'and takes next to nothing of it')
    await full(made, 64, 'new')
    await driver.end(id)
    t.equal((await storage.share(id))?.mostBytes, 64 * 1024 ** 2)
    const used = await usedMb()
    t.ok(used > 64 * 0.7 && used <= 64, `it takes ${used} MB`)
    const again = await driver.create({ ...spec(id), storageMb: 32 })
    const { mb: more } = await fill(again)
    t.ok(more < 1, 'full as it was, and not smaller')
    await empty(again)
    t.match(await litter(again), isFull, 'it is full with files that have nothing in them, too')
    await driver.end(id)
    const third = await driver.create({ ...spec(id), storageMb: 64 })
    await empty(third)
    await full(third, 64, 'started without room for a file, and emptied')
    await driver.end(id)
    await full(await driver.create({ ...spec(id), storageMb: 128 }), 64, 'one that was made larger, with what it had')
    await driver.remove(id)
    t.equal((await storage.room()).promised.get(id), undefined, 'the promise is given back')
    t.equal(await storage.share(id), undefined)
    t.same(await leftovers(id), [])
  })

  for (const what of ['machine', 'generic machine'] as const)
    t.test(`${name}: a ${what} that was made for nobody may write what its owner was promised`, async t => {
      const { driver, spec, fill, empty, leftovers } = await open(t)
      const { storage, claimer } = driver
      const rootfs = rootOf(driver, what, spec(''))
      if (!storage || !claimer || !fill || !empty || rootfs === undefined) {
        t.pass('cannot give machines with quotas to others')
        return
      }
      const id = randomUUID()
      await driver.create({ ...spec(id), rootfs, storageMb: 16, anonymous: true })
      await t.rejects(claimer.claim({ ...spec(id), storageMb: storage.claimableMb + 1 }, tell), {
        code: 'driver_failed',
      })
      const claimed = await claimer.claim({ ...spec(id), storageMb: 96 }, tell)
      const { said, mb } = await fill(claimed)
      t.match(said, isFull)
      t.ok(mb > 80 && mb <= 96, `${mb} MB`)
      t.ok(((await storage.room()).promised.get(id) ?? 0) >= 96)
      await storage.grow(id, 128)
      const { mb: grown } = await fill(claimed)
      t.ok(grown > 24 && grown <= 32, `${grown} MB more, at once`)
      t.ok(((await storage.room()).promised.get(id) ?? 0) >= 128, 'which it was promised')
      await storage.grow(id, 64)
      t.ok(((await storage.room()).promised.get(id) ?? 0) >= 128, 'and never less')
      await driver.end(id)
      const again = await driver.create({ ...spec(id), storageMb: 96 })
      const { mb: more } = await fill(again)
      t.ok(more < 1, 'which holds after a restart')
      await empty(again)
      const { mb: all } = await fill(again)
      t.ok(all > 112 && all <= 128, `${all} MB, where all could be deleted`)
      await driver.remove(id)
      t.same(await leftovers(id), [])
    })

  t.test(`${name}: nothing is promised that the disk has not got`, async t => {
    const { driver, spec, withRoom } = await open(t)
    if (!driver.storage || !withRoom) {
      t.pass('has no quotas')
      return
    }
    const [first, second] = [randomUUID(), randomUUID()]
    const small = await withRoom(100)
    await small.create({ ...spec(first), storageMb: 64 })
    await t.rejects(small.create({ ...spec(second), storageMb: 64 }), {
      code: 'no_room',
      status: 503,
      details: { wantedMb: 64, retryAfterS: Number },
    })
    t.notOk((await small.storage?.room())?.promised.has(second), 'one that was refused has no promise')
    t.not((await find(small, second))?.phase, 'running')
    await small.end(first)
    await t.rejects(
      small.create({ ...spec(first), storageMb: 256 }),
      { code: 'no_room' },
      'nor more to one that is there',
    )
    t.equal((await find(small, first))?.phase, 'stopped', 'which keeps its files')
    t.equal((await small.create({ ...spec(first), storageMb: 64 })).phase, 'running')
    await small.remove(first)
    t.equal(
      (await small.create({ ...spec(second), storageMb: 64 })).phase,
      'running',
      'what is given back can be promised',
    )
    await small.remove(second)
  })
}
