import t, { type Test } from 'tap'
import type { StandbyRule } from '../../../../control/core/transitions/rules.ts'
import { standby } from '../../../../control/core/machines/standby/standby.ts'
import { silentLog } from '../../../../shared/log.ts'
import { turn } from '../../../support/records.ts'
import { afterMs, runner, type RunnerOptions } from '../../../support/runner.ts'

/** One instance `i` of 2 GB, awake, and what looks after its sleep. */
const prepared = async (t: Test, options: RunnerOptions & { isStarting?: () => boolean } = {}) => {
  const made = await runner(t, options)
  const { clock, world, store, drivers, transition } = made
  const spec = { id: 'i', rootfs: '/', memoryMb: 2048, cpus: 1, hostname: 'i', env: {}, workdir: '/' }
  const machine = await drivers.preferred.create(spec)
  const rates = [{ dimension: 'agent_compute_runtime_gbs', quantity: 2 }]
  const { instance } = await made.add({ memoryMb: 2048 }, rates)
  const keepAlive = options.keepAlive ?? (async () => 0)
  const isStarting = options.isStarting ?? (() => false)
  const sleep = standby({
    store,
    drivers,
    clock,
    log: silentLog,
    transition,
    keepAlive,
    isStarting,
    observer: { woke() {} },
  })
  t.teardown(() => sleep.close())
  const state = async () => (await store.instances.get('i'))?.status
  const phase = () => world.machines.get('i')?.phase
  const up = () => sleep.up(instance, machine, { afterMs })
  return { clock, world, drivers, store, sleep, state, phase, up, instance, machine }
}

t.test('a machine that was half frozen when freezing failed is awake again', async t => {
  const { clock, drivers, sleep, state, phase, up } = await prepared(t)
  const freezer = drivers.preferred.freezer as { freeze(id: string): Promise<void> }
  const { freeze } = freezer
  freezer.freeze = async id => {
    await freeze(id)
    throw new Error('interrupted')
  }
  await up()
  await clock.tick(afterMs)
  t.equal(phase(), 'running', 'whoever comes is answered')
  t.equal(await state(), 'running')
  freezer.freeze = freeze
  await clock.tick(afterMs)
  t.equal(phase(), 'frozen', 'it is tried again')
  t.equal(await state(), 'standby')
  const release = await sleep.hold('i')
  t.equal(phase(), 'running')
  release()
})

t.test('one that could neither be frozen nor thawed is not billed as asleep while it runs', async t => {
  let broken = true
  const { clock, sleep, state, phase, up } = await prepared(t, {
    faults: point => {
      if (broken && (point === 'freeze' || point === 'thaw')) throw new Error(`${point} does not work`)
    },
  })
  await up()
  for (let tries = 0; tries < 3; tries++) await clock.tick(afterMs)
  t.same([phase(), await state()], ['running', 'running'])
  broken = false
  await clock.tick(afterMs)
  t.same([phase(), await state()], ['frozen', 'standby'])
  const release = await sleep.hold('i')
  t.same([phase(), await state()], ['running', 'running'])
  release()
})

t.test('idle long enough, it sleeps; the next hold wakes it; both are recorded and metered', async t => {
  const { clock, store, sleep, state, phase, up } = await prepared(t)
  await up()
  await clock.tick(afterMs - 1)
  t.equal(phase(), 'running')
  await clock.tick(1)
  t.equal(phase(), 'frozen')
  t.equal(await state(), 'standby')
  await clock.tick(60_000)
  const release = await sleep.hold('i')
  t.equal(phase(), 'running')
  t.equal(await state(), 'running')
  release()
  const intervals = await store.meter.intervals('i')
  t.match(
    intervals.map(({ dimension, quantity, from, to }) => [dimension, quantity, to === null ? null : to - from]),
    [
      ['agent_compute_runtime_gbs', 2, afterMs],
      ['agent_image_storage_gbs', 16 / 1024, 60_000],
      ['agent_compute_runtime_gbs', 2, null],
    ],
  )
})

t.test('while it is held it never sleeps, and the time counts from the last release', async t => {
  const { clock, sleep, phase, up } = await prepared(t)
  await up()
  const one = await sleep.hold('i')
  const two = await sleep.hold('i')
  await clock.tick(afterMs * 10)
  t.equal(phase(), 'running')
  one()
  one()
  await clock.tick(afterMs * 10)
  t.equal(phase(), 'running', 'released twice is released once')
  two()
  await clock.tick(afterMs - 1)
  t.equal(phase(), 'running')
  await clock.tick(1)
  t.equal(phase(), 'frozen')
})

t.test('who held it before it was seen does not hide that it sleeps', async t => {
  const { drivers, sleep, phase, instance, machine } = await prepared(t)
  const early = await sleep.hold('i')
  await drivers.preferred.freezer?.freeze('i')
  await sleep.up({ ...instance, status: 'standby' }, { ...machine, phase: 'frozen' }, { afterMs })
  const release = await sleep.hold('i')
  t.equal(phase(), 'running')
  release()
  early()
})

t.test('one that is to sleep at once and does not is looked at with pauses', async t => {
  let asked = 0
  const { clock, sleep, phase, instance, machine } = await prepared(t, {
    keepAlive: async () => {
      if (++asked < 1_000) throw new Error('nobody answers')
      return 0
    },
  })
  await sleep.up(instance, machine, { afterMs: 0 })
  await clock.tick(1_000)
  t.equal(phase(), 'running')
  t.ok(asked > 1 && asked < 20, `asked ${asked} times`)
})

t.test('keep-alive processes keep it awake; when they end it sleeps', async t => {
  let running = 1
  const { clock, phase, up } = await prepared(t, { keepAlive: async () => running })
  await up()
  await clock.tick(afterMs * 5)
  t.equal(phase(), 'running')
  running = 0
  await clock.tick(afterMs)
  t.equal(phase(), 'frozen')
})

t.test('a daemon that does not answer is taken to be at work', async t => {
  let silent = true
  const { clock, phase, up } = await prepared(t, {
    keepAlive: async () => {
      if (silent) throw new Error('no answer')
      return 0
    },
  })
  await up()
  await clock.tick(afterMs * 3)
  t.equal(phase(), 'running')
  silent = false
  await clock.tick(afterMs)
  t.equal(phase(), 'frozen')
})

t.test('a hold that comes while it falls asleep waits, and finds it awake', async t => {
  const door = Promise.withResolvers<void>()
  const { clock, world, sleep, phase, state, up } = await prepared(t, {
    faults: point => (point === 'freeze' ? door.promise : undefined),
  })
  await up()
  await clock.tick(afterMs)
  const held = sleep.hold('i')
  door.resolve()
  await held
  t.equal(phase(), 'running')
  t.equal(await state(), 'running')
  t.same(world.journal, ['create i', 'freeze i', 'thaw i'])
})

t.test('while it is asked whether it may sleep nobody holds it at once', async t => {
  const asked = Promise.withResolvers<number>()
  const { clock, sleep, phase, up } = await prepared(t, { keepAlive: () => asked.promise })
  await up()
  await clock.tick(afterMs)
  t.equal(sleep.holdAwake('i'), undefined)
  asked.resolve(0)
  await clock.tick(0)
  t.equal(phase(), 'frozen')
})

t.test('it is held at once only while it is awake and nothing is done to it, and that keeps it awake', async t => {
  const { clock, sleep, phase, up } = await prepared(t)
  t.equal(sleep.holdAwake('i'), undefined, 'nothing is known of it yet')
  await up()
  const release = sleep.holdAwake('i')
  await clock.tick(afterMs)
  t.equal(phase(), 'running')
  release?.()
  release?.()
  await clock.tick(afterMs)
  t.equal(phase(), 'frozen', 'it was given up once')
  t.equal(sleep.holdAwake('i'), undefined)
  const woken = sleep.hold('i')
  t.equal(sleep.holdAwake('i'), undefined, 'it is being woken')
  const first = await woken
  sleep.holdAwake('i')?.()
  await clock.tick(afterMs)
  t.equal(phase(), 'running', 'the other hold is there still')
  first()
})

t.test('many holds at once thaw it once', async t => {
  const { clock, world, sleep, up } = await prepared(t)
  await up()
  await clock.tick(afterMs)
  await Promise.all(Array.from({ length: 20 }, () => sleep.hold('i')))
  t.equal(world.journal.filter(line => line === 'thaw i').length, 1)
})

t.test(
  'a freeze that fails is tried again; a thaw that fails is told to who asked, and the next may succeed',
  async t => {
    let broken: string | undefined = 'freeze'
    const { clock, sleep, phase, up } = await prepared(t, {
      faults: point => {
        if (point === broken) throw new Error(`${point} does not work`)
      },
    })
    await up()
    await clock.tick(afterMs)
    t.equal(phase(), 'running')
    broken = undefined
    await clock.tick(afterMs)
    t.equal(phase(), 'frozen')
    broken = 'thaw'
    await t.rejects(sleep.hold('i'), { message: 'thaw does not work' })
    broken = undefined
    const release = await sleep.hold('i')
    t.equal(phase(), 'running')
    release()
  },
)

t.test('one that stood still for a copy and did not go on is tried again until it does', async t => {
  let broken = true
  const { clock, world, sleep, phase, instance, machine, state } = await prepared(t, {
    faults: point => {
      if (point === 'thaw' && broken) throw new Error('thaw does not work')
    },
  })
  // Nobody asks for it, and it never sleeps.
  await sleep.up(instance, machine, undefined)
  await t.rejects(
    sleep.still('i', async () => {}),
    { message: 'thaw does not work' },
  )
  await clock.tick(1_000)
  t.equal(phase(), 'frozen')
  broken = false
  await clock.tick(1_000)
  t.same([phase(), await state()], ['running', 'running'])
  await clock.tick(5_000)
  t.equal(world.journal.filter(line => line === 'thaw i').length, 1, 'once')
})

t.test('one that was frozen and is not written down as asleep goes on, and sleeps again by its rule', async t => {
  const { drivers, state, phase, instance, machine, sleep, clock } = await prepared(t)
  await drivers.preferred.freezer?.freeze('i')
  await sleep.up(instance, { ...machine, phase: 'frozen' }, { afterMs })
  t.equal(await state(), 'running')
  t.equal(phase(), 'running', 'it may have been frozen for a copy, and work')
  await clock.tick(afterMs)
  t.equal(await state(), 'standby')
  const release = await sleep.hold('i')
  t.equal(await state(), 'running')
  release()
})

t.test('and between thawing and writing it down', async t => {
  const { state, machine, sleep, store } = await prepared(t)
  const asleep = await turn(store, ['i', 1], { change: { status: 'standby' } }, 0)
  await sleep.up(asleep, machine, { afterMs })
  t.equal(await state(), 'running')
})

t.test('one whose kind never lets it sleep stays awake', async t => {
  const { clock, phase, instance, machine, sleep } = await prepared(t)
  await sleep.up(instance, machine, undefined)
  const release = await sleep.hold('i')
  release()
  await clock.tick(afterMs * 10)
  t.equal(phase(), 'running')
})

t.test('where its rule is aware of it, one that works by itself stays awake; when it stops, it sleeps', async t => {
  const { clock, world, phase, instance, machine, sleep } = await prepared(t)
  const inside = world.machines.get('i')
  if (!inside) throw new Error('no machine')
  const work = async (seconds: number, share: number) => {
    for (let at = 0; at < seconds; at++) {
      inside.cpuMs = (inside.cpuMs ?? 0) + 1_000 * share
      await clock.tick(1_000)
    }
  }
  await sleep.up(instance, machine, { afterMs, cpuAware: true })
  await work(100, 0.5)
  t.equal(phase(), 'running')
  await work(35, 0.01)
  t.equal(phase(), 'frozen', 'what an idle one uses is no work')
  const release = await sleep.hold('i')
  await work(5, 1)
  release()
  await work(17, 0)
  t.equal(phase(), 'frozen', 'work of while it was used does not count')
})

t.test('work keeps nobody awake whose rule does not say so', async t => {
  const { clock, world, phase, up } = await prepared(t)
  await up()
  for (let at = 0; at < 15; at++) {
    const inside = world.machines.get('i')
    if (inside) inside.cpuMs = (inside.cpuMs ?? 0) + 1_000
    await clock.tick(1_000)
  }
  t.equal(phase(), 'frozen')
})

t.test('asleep for long enough its memory is given back; one that is wanted before keeps it', async t => {
  const { clock, world, instance, machine, sleep } = await prepared(t)
  await sleep.up(instance, machine, { afterMs, reclaimAfterMs: 60_000 })
  const reclaimed = () => world.journal.filter(line => line === 'reclaim i').length
  await clock.tick(afterMs)
  await clock.tick(59_000)
  const release = await sleep.hold('i')
  await clock.tick(2_000)
  t.equal(reclaimed(), 0)
  release()
  await clock.tick(afterMs)
  await clock.tick(60_000)
  t.equal(reclaimed(), 1)
})

t.test('nothing is taken from one whose rule does not say so', async t => {
  const { clock, world, up, phase } = await prepared(t)
  await up()
  await clock.tick(afterMs)
  await clock.tick(86_400_000)
  t.equal(phase(), 'frozen')
  t.notOk(world.journal.includes('reclaim i'))
})

t.test('another rule holds at once, shorter or longer', async t => {
  const { clock, phase, instance, machine, sleep } = await prepared(t)
  await sleep.up(instance, machine, { afterMs: 3_600_000 })
  await clock.tick(1_000)
  await sleep.up(instance, machine, { afterMs: 5_000 })
  await clock.tick(6_000)
  t.equal(phase(), 'frozen')
  const release = await sleep.hold('i')
  release()
  await sleep.up(instance, machine, undefined)
  await clock.tick(3_600_000)
  t.equal(phase(), 'running')
})

t.test('one that is gone is left alone', async t => {
  const { clock, world, sleep, up } = await prepared(t)
  await up()
  sleep.down('i')
  await clock.tick(afterMs * 2)
  t.same(world.journal, ['create i'])
})

t.test(
  'a daemon is told that its machine sleeps when it is to tidy up, unless machines are made meanwhile',
  async t => {
    const told: boolean[] = []
    let isStarting = false
    const { clock, sleep, phase, instance, machine } = await prepared(t, {
      isStarting: () => isStarting,
      async keepAlive(_address, sleeps) {
        told.push(sleeps)
        return 0
      },
    })
    const falls = async (rule: StandbyRule): Promise<void> => {
      const release = await sleep.hold('i')
      await sleep.up(instance, machine, rule)
      release()
      await clock.tick(rule.afterMs)
      t.equal(phase(), 'frozen')
    }
    await falls({ afterMs, tidies: true })
    await falls({ afterMs })
    isStarting = true
    await falls({ afterMs, tidies: true })
    t.same(told, [true, false, false])
  },
)
