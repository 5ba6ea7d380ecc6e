/**
 * Machines in memory: a real implementation of the interface for tests and demonstrations of everything above it.
 * The world outlives the driver as a box outlives a crashed host process: open a second driver over the same world.
 */
import { fail } from '../../../shared/errors.ts'
import type { Driver, Machine, MachineSpec } from '../driver.ts'
import { promise, room, share } from './disk.ts'

/** Where a fault can strike; `half` means that something exists already (create) or still (remove). */
export type FaultPoint =
  | 'create.before'
  | 'create.half'
  | 'create.rising'
  | 'create.after'
  | 'end'
  | 'remove.before'
  | 'remove.half'
  | 'remove.after'
  | 'list'
  | 'grow'
  | 'stats'
  | 'freeze'
  | 'thaw'
  | 'reclaim'
  | 'claim'

/** Called at each point; throw, or wait, to make the fault. */
export type Faults = (point: FaultPoint, id: string, signal?: AbortSignal) => void | Promise<void>

export interface FakeServer {
  readonly host: string
  readonly port: number
  /** Where it listens for its host, when it has a channel. */
  readonly channelPort?: number
  close(): unknown
}

interface FakeMachine {
  phase: Machine['phase']
  readonly spec: MachineSpec
  limits: { memoryMb: number; cpus: number }
  /** Somebody has removed the image under it. */
  rootGone?: boolean
  /** Processor time it has used. */
  cpuMs?: number
  /** Its memory was put away while it was frozen. */
  putAway?: boolean
  server?: FakeServer
}

/** The box: machines by id. */
export interface FakeWorld {
  readonly machines: Map<string, FakeMachine>
  /** MB of its disk. */
  diskMb: number
  /** Verbs in the order they were carried out: `create a`, `freeze a`. */
  readonly journal: string[]
}

export const fakeWorld = (): FakeWorld => ({ machines: new Map(), journal: [], diskMb: 1_000_000_000 })

export interface FakeOptions {
  readonly world?: FakeWorld
  readonly faults?: Faults
  /** What answers in a machine; without it the address is one where nothing listens (127.0.0.1:9). */
  readonly serve?: (spec: MachineSpec) => Promise<FakeServer>
}

const present = (id: string, machine: FakeMachine): Machine => {
  const { phase, server, spec, rootGone } = machine
  if (phase !== 'running' && phase !== 'frozen') return { id, phase }
  const { host = '127.0.0.1', port = 9, channelPort } = server ?? {}
  const generation = spec.channel?.generation
  const channel = channelPort !== undefined && generation ? { port: channelPort, machine: id, generation } : undefined
  return { id, phase, ...(rootGone ? { rootGone } : {}), address: { host, port, ...(channel ? { channel } : {}) } }
}

interface Context {
  readonly world: FakeWorld
  readonly faults: Faults
  readonly serve: FakeOptions['serve']
}

const note = ({ world }: Context, verb: string, id: string): void => void world.journal.push(`${verb} ${id}`)

const drop = async ({ world: { machines } }: Context, id: string): Promise<void> => {
  const machine = machines.get(id)
  if (!machine) return
  machine.phase = 'half-made'
  await machine.server?.close()
  machines.delete(id)
}

const alive = ({ world }: Context, id: string, step: string): FakeMachine => {
  const machine = world.machines.get(id)
  if (machine?.phase === 'running' || machine?.phase === 'frozen') return machine
  throw fail('driver_failed', { driver: 'fake', step, reason: `machine ${id} is not running; create it again` })
}

const grow = async (context: Context, id: string, storageMb: number): Promise<void> => {
  const { world, faults } = context
  await faults('grow', id)
  const machine = world.machines.get(id)
  if (!machine || (machine.spec.storageMb ?? 0) >= storageMb) return
  promise(world, { id, storageMb })
  world.machines.set(id, { ...machine, spec: { ...machine.spec, storageMb } })
  note(context, 'grow', id)
}

const create = async (
  context: Context,
  spec: MachineSpec,
  signal: AbortSignal | undefined,
  onRising: (() => void) | undefined,
): Promise<Machine> => {
  const { world, faults, serve } = context
  signal?.throwIfAborted()
  const existing = world.machines.get(spec.id)
  if (existing?.phase === 'running' || existing?.phase === 'frozen') return present(spec.id, existing)
  await faults('create.before', spec.id, signal)
  promise(world, spec)
  await drop(context, spec.id)
  const machine: FakeMachine = { phase: 'half-made', spec, limits: { memoryMb: spec.memoryMb, cpus: spec.cpus } }
  world.machines.set(spec.id, machine)
  await faults('create.half', spec.id, signal)
  signal?.throwIfAborted()
  onRising?.()
  await faults('create.rising', spec.id, signal)
  if (serve) machine.server = await serve(spec)
  machine.phase = 'running'
  note(context, 'create', spec.id)
  await faults('create.after', spec.id, signal)
  return present(spec.id, machine)
}

const end = async (context: Context, id: string, signal?: AbortSignal): Promise<void> => {
  const { world, faults } = context
  signal?.throwIfAborted()
  await faults('end', id, signal)
  const machine = world.machines.get(id)
  if (!machine || machine.phase === 'half-made') return
  if (machine.phase !== 'stopped') note(context, 'end', id)
  machine.phase = 'stopped'
  await machine.server?.close()
}

const remove = async (context: Context, id: string, signal?: AbortSignal): Promise<void> => {
  const { world, faults } = context
  signal?.throwIfAborted()
  await faults('remove.before', id, signal)
  const machine = world.machines.get(id)
  if (machine) machine.phase = 'half-made'
  await faults('remove.half', id, signal)
  if (machine) note(context, 'remove', id)
  await drop(context, id)
  await faults('remove.after', id, signal)
}

/** Stops or starts the machine's clock. */
const turn = async (context: Context, id: string, verb: 'freeze' | 'thaw'): Promise<void> => {
  await context.faults(verb, id)
  const machine = alive(context, id, verb)
  const phase = verb === 'freeze' ? 'frozen' : 'running'
  if (machine.phase !== phase) note(context, verb, id)
  machine.phase = phase
  machine.putAway = false
}

const claim = async (context: Context, spec: MachineSpec): Promise<Machine> => {
  const { id } = spec
  await context.faults('claim', id)
  const machine = alive(context, id, 'claim')
  if (!machine.spec.anonymous)
    throw fail('driver_failed', { driver: 'fake', step: 'claim', reason: `no machine ${id} was made for nobody` })
  promise(context.world, spec)
  const claimed: FakeMachine = {
    ...machine,
    phase: 'running',
    spec: { ...spec, anonymous: true },
    limits: { memoryMb: spec.memoryMb, cpus: spec.cpus },
  }
  context.world.machines.set(id, claimed)
  note(context, 'claim', id)
  return present(id, claimed)
}

export const fakeDriver = (options: FakeOptions = {}): Driver => {
  const { world = fakeWorld(), faults = () => {}, serve } = options
  const context: Context = { world, faults, serve }
  const { machines } = world
  return {
    name: 'fake',
    probe: async () => ({
      usable: true,
      findings: [{ ok: true, what: 'machines are made in memory' }],
      protects: [],
      doesNotProtect: ['anything: nothing is run at all'],
    }),
    create: (spec, signal, onRising) => create(context, spec, signal, onRising),
    async list(signal) {
      signal?.throwIfAborted()
      await faults('list', '', signal)
      return [...machines].map(([id, machine]) => present(id, machine))
    },
    end: (id, signal) => end(context, id, signal),
    remove: (id, signal) => remove(context, id, signal),
    async stats(id) {
      await faults('stats', id)
      const machine = machines.get(id)
      return machine && { memoryBytes: (machine.putAway ? 4 : 16) * 1024 * 1024, cpuMs: machine.cpuMs ?? 100 }
    },
    freezer: {
      freeze: id => turn(context, id, 'freeze'),
      thaw: id => turn(context, id, 'thaw'),
      async reclaim(id, signal) {
        await faults('reclaim', id, signal)
        if (signal.aborted) return
        alive(context, id, 'reclaim').putAway = true
        note(context, 'reclaim', id)
      },
    },
    storage: {
      claimableMb: 8_192,
      room: async () => room(world),
      share: async id => share(world, id),
      grow: (id, mb) => grow(context, id, mb),
    },
    claimer: {
      genericRoot: '/',
      async claim(spec, tell) {
        const machine = await claim(context, spec)
        await tell(machine)
        return machine
      },
    },
    close: async () => {},
  }
}
