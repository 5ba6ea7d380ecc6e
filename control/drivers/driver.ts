import type { MachineIdentity } from '../../shared/wire/host.ts'
import type { Snapshotter } from './snapshotter.ts'
import type { Storage } from './storage.ts'
import type { MachineVolume, Volumes } from './volumes.ts'

/**
 * What a sandbox runs in.
 *
 * **Terms.** A *machine* is one running sandbox on this box; its `id` is chosen by us (the record's uid) and is
 * the only name a driver knows it by. A driver holds no truth and no business rules: no quotas, no names, no
 * expiry, no state words of the API. After a crash the reconciler lists what exists and matches it by id; what
 * nobody claims is removed.
 *
 * **Idempotency.** Every verb may be repeated, also after it failed half-way or the process died in the middle:
 * `create` of a machine that runs returns it; of one half-made, finishes or rebuilds it; `remove` of one that is
 * gone is done. Calls for one id are serialised by the caller; different ids run side by side.
 *
 * **Cancellation.** A verb that is aborted leaves something that `remove` cleans up.
 *
 * **Errors.** A driver throws `driver_failed` naming the step and what to do, or `busy` when it will work later.
 *
 * **Abilities** that not every technology has are optional objects: ask `driver.freezer` before you freeze.
 */
export interface Driver {
  readonly name: string
  /** Probes the box by doing; says what is missing and how to mend it. Changes nothing that stays. */
  probe(signal?: AbortSignal): Promise<Probe>
  /**
   * Starts one machine. Resolves when the daemon in it answers. One that has ended is started again with the files it
   * had, where the technology keeps them. Where that is all that is left to wait for and it takes long, `onRising` is called, once.
   */
  create(spec: MachineSpec, signal?: AbortSignal, onRising?: () => void): Promise<Machine>
  /** What exists, from the box itself and not from memory: running, stopped and half-made machines. */
  list(signal?: AbortSignal): Promise<Machine[]>
  /**
   * Ends everything in the machine at once and leaves its files, so that the next `create` starts it anew with them. One that
   * has ended or is gone stays as it is.
   */
  end(id: string, signal?: AbortSignal): Promise<void>
  /** Ends everything in the machine and gives back all it held: mounts, network, cgroup, directories. */
  remove(id: string, signal?: AbortSignal): Promise<void>
  /** Memory and processor time used so far; undefined when the machine is gone. */
  stats(id: string): Promise<Stats | undefined>
  readonly freezer?: Freezer
  readonly mounter?: Mounter
  readonly claimer?: Claimer
  readonly outbound?: Outbound
  readonly keeper?: Keeper
  readonly storage?: Storage
  readonly volumes?: Volumes
  readonly snapshotter?: Snapshotter
  close(): Promise<void>
}

export interface Probe {
  readonly usable: boolean
  /** One line a line: what was tried and what came of it. */
  readonly findings: readonly Finding[]
  readonly protects: readonly string[]
  readonly doesNotProtect: readonly string[]
}

export interface Finding {
  readonly ok: boolean
  readonly what: string
  /** What to do about it, when not ok. */
  readonly next?: string
}

/** Everything a machine is made from. */
export interface MachineSpec {
  readonly id: string
  /** Directory of an unpacked root file system, shared read-only by any number of machines. */
  readonly rootfs: string
  readonly memoryMb: number
  readonly cpus: number
  /** What it may write, MB; no end unless given, or where the driver has no `storage`. One that is started again may get more, never less. */
  readonly storageMb?: number
  readonly hostname: string
  /** Environment of the daemon and so of everything it starts. */
  readonly env: Readonly<Record<string, string>>
  /** Directory inside that relative paths of the API refer to. */
  readonly workdir: string
  /** What it sends goes to the driver's `outbound` and nowhere else. */
  readonly held?: boolean
  /** Further files of /etc, by their names. */
  readonly etc?: Readonly<Record<string, string>>
  /** Whose it is: for a daemon that has a channel. */
  readonly identity?: MachineIdentity
  /** For a daemon that has a channel. One that is told nothing answers everything to everybody. */
  readonly channel?: ChannelStart
  /** Port that its daemon listens on, where the usual one is for what runs in the machine. */
  readonly daemonPort?: number
  /** Made ahead of need for nobody: its daemon waits to be claimed. */
  readonly anonymous?: boolean
  /** Disks that it sees besides its root; only where the driver has `volumes`. */
  readonly volumes?: readonly MachineVolume[]
  /**
   * Programs in it may make namespaces of their own, and mount in them: builders do. A driver that cannot bound what that gives
   * them throws `driver_failed`.
   */
  readonly nests?: boolean
}

/** What the daemon of one start of a machine is told, so that it can tell the host from its tenant. */
export interface ChannelStart {
  /** 32 bytes in base64url. To be given to the daemon alone; not to be kept. */
  readonly key: string
  /** The same at each start of the machine: what its daemon may seal its files with. To be given to the daemon alone. */
  readonly sealKey: string
  /** Which start it is. To be kept, and told as part of the address. */
  readonly generation: string
}

export interface Machine {
  readonly id: string
  readonly phase: 'half-made' | 'running' | 'frozen' | 'stopped'
  /** The files of the image under it are gone from the box while it runs: it sees what it has read or written, at best. */
  readonly rootGone?: true
  /** Where the daemon answers, while it runs. */
  readonly address?: {
    readonly host: string
    readonly port: number
    /** Absent where the daemon has none. */
    readonly channel?: { readonly port: number; readonly machine: string; readonly generation: string }
  }
}

export interface Stats {
  readonly memoryBytes: number
  readonly cpuMs: number
}

/** Stops the machine's clock: its memory stays, it uses no processor. Both verbs are idempotent. */
export interface Freezer {
  freeze(id: string): Promise<void>
  thaw(id: string): Promise<void>
  /**
   * Takes the memory of a frozen machine out of the box's own, as far as there is somewhere to put it; what it then reads it gets
   * back, slower. Resolves early when `signal` says that the machine is wanted.
   */
  reclaim?(id: string, signal: AbortSignal): Promise<void>
}

/** The step of a `driver_failed` that says that a generic machine cannot get the root of the image: others of that image may not, either. */
export const rootStep = 'root of the image'

/** Tells the daemon of a machine that runs whose it is. */
export type Tell = (machine: Machine) => Promise<void>

/**
 * Gives a machine that was made `anonymous`, that runs or is frozen and that nobody has used, to somebody.
 */
export interface Claimer {
  /** What a machine has to have been made with that becomes one of any image when it is claimed; absent where none can. */
  readonly genericRoot?: string
  /**
   * Sets all that is set from outside (names, memory, what holds its traffic, the host's files) to what `spec` says, and has its
   * daemon told the rest as soon as that can be, and before anybody may use it. Root file system and working directory are what it
   * was made with, but for a generic one, which gets those of the spec. Becomes what it is as fast as the box allows; afterwards it has its
   * share of the processors. May be repeated. Throws as `create` and `tell` do, and `driver_failed` of `rootStep`; such a machine is only good for `remove`.
   */
  claim(spec: Omit<MachineSpec, 'channel'>, tell: Tell): Promise<Machine>
}

/** Where the files of machines are: what is copied from there while a machine stands still makes one like it elsewhere. */
export interface Keeper {
  /** Names below the data directory; none when the machine has no files that would outlive its end. */
  filesOf(id: string): Promise<readonly string[]>
}

/**
 * Shows directories of this box in a running machine, from outside: the machine itself may not mount. What is mounted is
 * read from the kernel, never remembered; mounts end with the machine. Its verbs may run beside any other of the same
 * machine and throw `busy` while it does not run.
 */
export interface Mounter {
  /** The kernel's table of mounts as the machine sees it, in the form of /proc/self/mountinfo. */
  table(id: string): Promise<string>
  /**
   * Makes what is missing of the mount point, as root's. Throws `not_found` when there is no such drive,
   * `invalid_argument` when a file or a link is in the way on either side, `operation_failed` otherwise. Resolves with
   * whether `owner` is heeded.
   */
  mount(id: string, wanted: DirectoryMount): Promise<boolean>
  /** `mountId` is the mount's number in the table. Throws `operation_failed` when another one is there by now. */
  unmount(id: string, mounted: { mountId: number; mountPath: string }): Promise<void>
}

/** A process as the machine shows it; its name and command line are what it says of itself. */
export interface ProcessFacts {
  /** Its number inside. */
  readonly pid?: number
  readonly process: string
  /** Its arguments, the program first. */
  readonly words: readonly string[]
}

export interface OutboundPorts {
  /** For whoever is told of it. */
  readonly proxy: number
  /** TCP to anywhere. */
  readonly transparent: number
  /** Port 53 of anywhere, UDP and TCP. */
  readonly dns: number
  /** UDP to anywhere, but to port 443. */
  readonly datagrams: number
}

/**
 * Where the traffic of machines that were made with `held` ends: TCP, UDP and questions of names are redirected there, all else they send is
 * dropped. Who listens decides what goes on; while nobody does, nothing leaves.
 */
export interface Outbound {
  /** An address of this box that only such machines reach. */
  readonly address: string
  readonly ports: OutboundPorts
  /** Networks of machines of this box, as CIDR. */
  readonly machineNetworks: readonly string[]
  /** Which process is at that end of a connection, where it can be found. */
  processAt?(address: string, port: number): Promise<ProcessFacts | undefined>
  /** Id of the machine that sends from this address, by the link it has. */
  machineAt(address: string): string | undefined
}

export interface DirectoryMount {
  /** Absolute and without links: what all drives are in. */
  readonly base: string
  /** The drive's directory in it, and the directory in the drive that is shown. Links on the way are refused. */
  readonly drive: string
  readonly drivePath: string
  /** Absolute path inside. */
  readonly mountPath: string
  /** The machine can only read; what is missing of `drivePath` is then not made. */
  readonly readOnly: boolean
  /**
   * Ids that the owner of the drive has inside, and who has them there is the owner on disk; '' for no change.
   * `required`: throws `operation_failed` where the file system cannot do it.
   */
  readonly owner?: { readonly uid: string; readonly gid: string; readonly required: boolean }
}
