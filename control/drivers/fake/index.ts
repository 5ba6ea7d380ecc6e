/**
 * Machines in memory: a real implementation of the interface for tests and demonstrations of everything above it.
 * The world outlives the driver as a box outlives a crashed host process: open a second driver over the same world.
 */
import { fail } from '../../../shared/errors.ts'
import type { Driver, Machine, MachineSpec } from '../driver.ts'

/** Where a fault can strike; `half` means that something exists already (create) or still (remove). */
export type FaultPoint =
  | 'create.before'
  | 'create.half'
  | 'create.after'
  | 'remove.before'
  | 'remove.half'
  | 'remove.after'
  | 'list'
  | 'stats'
  | 'freeze'
  | 'thaw'
  | 'resize'

/** Called at each point; throw, or wait, to make the fault. */
export type Faults = (point: FaultPoint, id: string, signal?: AbortSignal) => void | Promise<void>

export interface FakeServer {
  readonly host: string
  readonly port: number
  close(): unknown
}

interface FakeMachine {
  phase: Machine['phase']
  readonly spec: MachineSpec
  limits: { memoryMb: number; cpus: number }
  server?: FakeServer
}

/** The box: machines by id. */
export interface FakeWorld {
  readonly machines: Map<string, FakeMachine>
  /** Verbs in the order they were carried out: `create a`, `freeze a`. */
  readonly journal: string[]
}

export const fakeWorld = (): FakeWorld => ({ machines: new Map(), journal: [] })

export interface FakeOptions {
  readonly world?: FakeWorld
  readonly faults?: Faults
  /** What answers in a machine; without it the address is one where nothing listens (127.0.0.1:9). */
  readonly serve?: (spec: MachineSpec) => Promise<FakeServer>
}

const present = (id: string, machine: FakeMachine): Machine => {
  const { phase, server } = machine
  if (phase !== 'running' && phase !== 'frozen') return { id, phase }
  return { id, phase, address: { host: server?.host ?? '127.0.0.1', port: server?.port ?? 9 } }
}

export const fakeDriver = (options: FakeOptions = {}): Driver => {
  const { world = fakeWorld(), faults = () => {}, serve } = options
  const { machines, journal } = world
  const note = (verb: string, id: string) => void journal.push(`${verb} ${id}`)

  const drop = async (id: string) => {
    const machine = machines.get(id)
    if (!machine) return
    machine.phase = 'half-made'
    await machine.server?.close()
    machines.delete(id)
  }

  const alive = (id: string, step: string): FakeMachine => {
    const machine = machines.get(id)
    if (machine?.phase === 'running' || machine?.phase === 'frozen') return machine
    throw fail('driver_failed', { driver: 'fake', step, reason: `machine ${id} is not running; create it again` })
  }

  return {
    name: 'fake',
    probe: async () => ({
      usable: true,
      findings: [{ ok: true, what: 'machines are made in memory' }],
      protects: [],
      doesNotProtect: ['anything: nothing is run at all'],
    }),
    async create(spec, signal) {
      signal?.throwIfAborted()
      const existing = machines.get(spec.id)
      if (existing?.phase === 'running' || existing?.phase === 'frozen') return present(spec.id, existing)
      await faults('create.before', spec.id, signal)
      await drop(spec.id)
      const machine: FakeMachine = {
        phase: 'half-made',
        spec,
        limits: { memoryMb: spec.memoryMb, cpus: spec.cpus },
      }
      machines.set(spec.id, machine)
      await faults('create.half', spec.id, signal)
      signal?.throwIfAborted()
      if (serve) machine.server = await serve(spec)
      machine.phase = 'running'
      note('create', spec.id)
      await faults('create.after', spec.id, signal)
      return present(spec.id, machine)
    },
    async list(signal) {
      signal?.throwIfAborted()
      await faults('list', '', signal)
      return [...machines].map(([id, machine]) => present(id, machine))
    },
    async remove(id, signal) {
      signal?.throwIfAborted()
      await faults('remove.before', id, signal)
      const machine = machines.get(id)
      if (machine) machine.phase = 'half-made'
      await faults('remove.half', id, signal)
      if (machine) note('remove', id)
      await drop(id)
      await faults('remove.after', id, signal)
    },
    async stats(id) {
      await faults('stats', id)
      return machines.has(id) ? { memoryBytes: 16 * 1024 * 1024, cpuMs: 100 } : undefined
    },
    freezer: {
      async freeze(id) {
        await faults('freeze', id)
        const machine = alive(id, 'freeze')
        if (machine.phase === 'running') note('freeze', id)
        machine.phase = 'frozen'
      },
      async thaw(id) {
        await faults('thaw', id)
        const machine = alive(id, 'thaw')
        if (machine.phase === 'frozen') note('thaw', id)
        machine.phase = 'running'
      },
    },
    resizer: {
      async resize(id, limits) {
        await faults('resize', id)
        alive(id, 'resize').limits = { ...limits }
        note('resize', id)
      },
    },
    close: async () => {},
  }
}
