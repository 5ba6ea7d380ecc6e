/** What is done to a sandbox while calls of its server fail, and when it is done. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withStore } from './bill.ts'
import { runCommand } from './command.ts'
import type { FaultyServer } from './faulty-server.ts'
import { until } from './until.ts'

export interface Fault {
  readonly kind: 'kills' | 'fails'
  /** Of the calls, from 1. */
  readonly at: number
}

export interface Scenario {
  readonly name: string
  /** Somewhere in the middle; `crash.test` has kills at many moments of a create and of a delete. */
  readonly sample: Fault
  /** `runc` has all of them. On gVisor: in the sample too, in the soak, or never, as there are no machines ahead of need. */
  readonly onGvisor: 'sample' | 'soak' | 'never'
  readonly env?: Record<string, string>
  /** Its server would change what the others do: in the sample it has one of its own. */
  readonly alone?: boolean
  /** Of a sandbox that is there or not; what is done then is counted. */
  prepare(s: FaultyServer, name: string): Promise<unknown>
  act(s: FaultyServer, name: string): Promise<unknown>
  done(s: FaultyServer, name: string): Promise<boolean>
}

const get = async (s: FaultyServer, name: string) => (await s.call('GET', `/v0/sandboxes/${name}`)).body
export const statusOf = async (s: FaultyServer, name: string): Promise<string> => (await get(s, name))?.status ?? 'none'

const create = (s: FaultyServer, name: string, image = 'busybox') =>
  s.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime: { image, memory: 256 } } })

const up = async (s: FaultyServer, name: string): Promise<void> => {
  await create(s, name)
  await s.until(name, body => body.status === 'DEPLOYED')
}

const exec = async (s: FaultyServer, name: string, command: string): Promise<string> =>
  (await s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })).body?.logs

const asleep = async (s: FaultyServer, name: string): Promise<boolean> => (await get(s, name))?.state === 'STANDBY'

/** Up and usable, or never heard of. */
const usable = async (s: FaultyServer, name: string): Promise<boolean> => {
  const status = await statusOf(s, name)
  return status === 'none' || (status === 'DEPLOYED' && (await exec(s, name, 'echo up')) === 'up\n')
}

const ready = async (s: FaultyServer): Promise<boolean> =>
  (await s.call('GET', '/v0/warm-pools')).body.pools[0]?.ready === 1

/** Whether its machine has the memory that its record says, whichever that is. */
const isOfItsSize = async (s: FaultyServer, name: string): Promise<boolean> => {
  const { spec } = await get(s, name)
  const machines = await withStore(s.dataDir, store => store.instances.every())
  const sizes = machines
    .filter(({ owner }) => owner.kind === 'sandbox' && owner.name === name)
    .map(({ id }) => JSON.parse(readFileSync(join(s.dataDir, 'machines', id, 'machine.json'), 'utf8')).memoryMb)
  return sizes.length === 1 && sizes[0] === spec.runtime.memory
}

const files = (s: FaultyServer): string[] => {
  const directory = join(s.dataDir, 'snapshots')
  return existsSync(directory) ? readdirSync(directory) : []
}

const snapshotOf = async (s: FaultyServer, name: string) => (await s.call('GET', `/v0/snapshots/${name}-saved`)).body

const take = (s: FaultyServer, name: string) =>
  s.call('POST', `/v0/sandboxes/${name}/snapshots`, { name: `${name}-saved` })

const keepAndTake = async (s: FaultyServer, name: string): Promise<void> => {
  await keepSomething(s, name)
  // One that a kill has left is known to have failed, and has its name.
  if ((await snapshotOf(s, name))?.status === 'ready') return
  await s.call('DELETE', `/v0/snapshots/${name}-saved`)
  await take(s, name)
}

/** As many as there are records that are ready, and what is pending is over. */
const noneTooMany = async (s: FaultyServer): Promise<boolean> => {
  const { data } = (await s.call('GET', '/v0/snapshots')).body
  const ready = data.filter(({ status }: { status: string }) => status === 'ready')
  return data.every(({ status }: { status: string }) => status !== 'pending') && files(s).length === ready.length
}

const dropped = async (s: FaultyServer, name: string): Promise<boolean> => {
  await s.call('DELETE', `/v0/sandboxes/${name}`)
  return ['TERMINATED', 'none'].includes(await statusOf(s, name))
}

const backupOf = (s: FaultyServer, name: string) => join(s.dataDir, `${name}.tar`)
const backup = (s: FaultyServer, name: string) =>
  runCommand(['backup', backupOf(s, name)], { HUTCH_DATA_DIR: s.dataDir })

const keepSomething = async (s: FaultyServer, name: string): Promise<void> => {
  await up(s, name)
  await exec(s, name, 'echo kept > /kept')
}

/** In the order of a sandbox's life: the sample plays them with one. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'create',
    onGvisor: 'soak',
    sample: { kind: 'fails', at: 20 },
    prepare: async () => {},
    act: create,
    done: usable,
  },
  {
    name: 'resize',
    onGvisor: 'soak',
    sample: { kind: 'kills', at: 12 },
    prepare: up,
    act: (s, name) =>
      s.call('PUT', `/v0/sandboxes/${name}`, { metadata: { name }, spec: { runtime: { memory: 512 } } }),
    done: async (s, name) => (await usable(s, name)) && (await isOfItsSize(s, name)),
  },
  {
    name: 'freeze and wake',
    onGvisor: 'sample',
    sample: { kind: 'fails', at: 2 },
    async prepare(s, name) {
      await keepSomething(s, name)
      const spec = { lifecycle: { standby: { after: '1s' } } }
      await s.call('PUT', `/v0/sandboxes/${name}`, { metadata: { name }, spec })
    },
    async act(s, name) {
      await until(() => asleep(s, name), 'it to sleep')
      await exec(s, name, 'true')
    },
    done: async (s, name) =>
      (await exec(s, name, 'cat /kept')) === 'kept\n' && (await until(() => asleep(s, name), 'it to sleep'), true),
  },
  {
    // What there is of snapshots: it stands still while its files are copied.
    name: 'backup',
    onGvisor: 'soak',
    sample: { kind: 'fails', at: 2 },
    prepare: keepSomething,
    act: backup,
    async done(s, name) {
      const halves = () => readdirSync(s.dataDir).filter(file => file.endsWith('.part'))
      // Refused where there is one, but it tidies up.
      if (halves().length > 0) await backup(s, name)
      if (!existsSync(backupOf(s, name)) && (await backup(s, name)).code !== 0) return false
      return halves().length === 0 && (await exec(s, name, 'cat /kept')) === 'kept\n'
    },
  },
  {
    name: 'snapshot',
    onGvisor: 'never',
    sample: { kind: 'kills', at: 9 },
    prepare: keepSomething,
    act: take,
    // There is one that can be used, or there is none; and the sandbox goes on.
    done: async (s, name) => (await noneTooMany(s)) && (await exec(s, name, 'cat /kept')) === 'kept\n',
  },
  {
    name: 'fork',
    onGvisor: 'never',
    sample: { kind: 'kills', at: 14 },
    prepare: keepAndTake,
    act: (s, name) =>
      s.call('POST', '/v0/sandboxes', { metadata: { name: `${name}-fork` }, spec: { fromSnapshot: `${name}-saved` } }),
    async done(s, name) {
      const fork = `${name}-fork`
      const status = await statusOf(s, fork)
      if (status === 'none' || status === 'TERMINATED') return true
      // It has what was saved, or is known to have failed.
      if (status !== 'DEPLOYED') return status === 'FAILED' && dropped(s, fork)
      return (await exec(s, fork, 'cat /kept')) === 'kept\n' && dropped(s, fork)
    },
  },
  {
    name: 'restore',
    onGvisor: 'never',
    sample: { kind: 'kills', at: 12 },
    async prepare(s, name) {
      await keepAndTake(s, name)
      await exec(s, name, 'echo later > /kept')
    },
    act: (s, name) => s.call('POST', `/v0/sandboxes/${name}/snapshots/${name}-saved/restore`),
    async done(s, name) {
      const kept = await exec(s, name, 'cat /kept')
      const halves = readdirSync(join(s.dataDir, 'machines')).flatMap(id =>
        ['previous', 'next', 'next.json'].filter(one => existsSync(join(s.dataDir, 'machines', id, one))),
      )
      return (kept === 'kept\n' || kept === 'later\n') && halves.length === 0
    },
  },
  {
    name: 'delete of a snapshot',
    onGvisor: 'never',
    sample: { kind: 'kills', at: 2 },
    prepare: keepAndTake,
    act: (s, name) => s.call('DELETE', `/v0/snapshots/${name}-saved`),
    done: s => noneTooMany(s),
  },
  {
    name: 'delete',
    onGvisor: 'sample',
    sample: { kind: 'kills', at: 10 },
    prepare: up,
    act: (s, name) => s.call('DELETE', `/v0/sandboxes/${name}`),
    done: async (s, name) => ['TERMINATED', 'none'].includes(await statusOf(s, name)) || usable(s, name),
  },
  {
    name: 'claim and refill',
    onGvisor: 'never',
    sample: { kind: 'kills', at: 11 },
    // Of an image that no other of these uses.
    env: { HUTCH_WARM: 'base=1' },
    prepare: s => until(() => ready(s), 'a machine ahead of need'),
    act: (s, name) => create(s, name, 'base'),
    done: async (s, name) => (await usable(s, name)) && (await ready(s)),
  },
  {
    name: 'claim of any image and refill',
    onGvisor: 'never',
    sample: { kind: 'kills', at: 4 },
    env: { HUTCH_WARM: '*=1' },
    alone: true,
    prepare: s => until(() => ready(s), 'a machine ahead of need'),
    act: (s, name) => create(s, name, 'base'),
    done: async (s, name) => (await usable(s, name)) && (await ready(s)),
  },
]
