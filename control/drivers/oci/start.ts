/** Starts a machine: one chain of `exec` from a private mount namespace to the runtime. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { errno, fail } from '../../../shared/errors.ts'
import { command } from '../../../shared/installation.ts'
import { toolEnvironment } from './command.ts'
import type { Runtime } from './context.ts'
import { storeName, type MachineFiles } from './layout.ts'
import { stageDir } from './names.ts'
import { program } from './native/programs.ts'
import { runProcess } from './process/run-process.ts'
import type { ShownVolume } from './volumes/files.ts'

/** The descriptor of a first process that is its private place (`native/private-place.h`). */
export const privateFd = 3

/** What a start is told (`native/told.h`). */
export interface Told {
  /** What the runtime reads. */
  readonly config?: object
  /** What the machine's first process reads on its standard input. */
  readonly input?: object
  /** The host's files for /etc of a machine with a disk, by their names. */
  readonly etc?: Readonly<Record<string, string>>
  /** By place on the stage (`native/machine-volumes.h`). */
  readonly volumes?: readonly ShownVolume[]
}

const partOf = (name: string, text: string): string => `${name} ${Buffer.byteLength(text)}\n${text}`

const volumePart = ({ file, mountPath, readOnly }: ShownVolume, place: number): string =>
  partOf(`volume/${place}`, `${readOnly ? 'ro' : 'rw'}\n${file}\n${mountPath}\n`)

export const tellStart = ({ config, input, etc = {}, volumes = [] }: Told): string =>
  [
    ...Object.entries({ config, input }).flatMap(([name, part]) => (part ? [partOf(name, JSON.stringify(part))] : [])),
    ...Object.entries(etc).map(([name, text]) => partOf(`etc/${name}`, text)),
    ...volumes.map(volumePart),
  ].join('')

export interface StageInput {
  readonly files: Pick<MachineFiles, 'dir' | 'starter' | 'output' | 'disk'>
  /** Path of the network namespace whose user namespace the machine has; undefined where it has none. */
  readonly usersOf: string | undefined
  /** Open files that the machine may have, where its runtime may not set that; undefined where it may. */
  readonly openFiles: number | undefined
  /** The image's root file system, or undefined when the root is a copy. */
  readonly image: string | undefined
  /** It is a generic machine, whose root nobody writes to. */
  readonly generic: boolean
  /** Where the machine has a disk of its own: how many blocks it may fill, all unless given; and what it is made of when it is new. */
  readonly disk: { readonly blocks: number | undefined; readonly blank: string | undefined } | undefined
  readonly bundleDir: string
  readonly releasesDir: string | undefined
  /** The runtime is to hand on a descriptor of the machine's private place. */
  readonly privatePlace: boolean
  /** Mount point that the runtime is not to see; undefined for none. */
  readonly hidden: string | undefined
  /** The machine has a directory of its own that is on no overlay. */
  readonly store?: boolean
  /** The runtime's command, which finds what it is to mount below `stageDir`. */
  readonly launch: readonly string[]
}

export interface StartInput extends Omit<StageInput, 'launch' | 'files'> {
  readonly id: string
  readonly files: MachineFiles
  readonly told: Told
  readonly runtime: Runtime
  readonly signal?: AbortSignal | undefined
}

/** Arguments of `start-machine`, whose file says what they mean. */
export const stageCommand = (input: StageInput): string[] => {
  const { files, usersOf, openFiles, image, generic, disk, bundleDir, releasesDir, privatePlace, hidden, store } = input
  const orNone = (choices: readonly (string | undefined)[]) => choices.map(choice => choice ?? '-')
  return [
    files.starter,
    files.output,
    stageDir,
    ...orNone([usersOf, openFiles?.toString(), image, generic ? undefined : 'upper']),
    files.dir,
    ...orNone(disk ? [files.disk, disk.blocks?.toString(), disk.blank] : [undefined, undefined, undefined]),
    bundleDir,
    releasesDir ?? '-',
    privatePlace ? String(privateFd) : '-',
    hidden ?? '-',
    store ? storeName : '-',
    ...input.launch,
  ]
}

const startMs = 60_000
const tailBytes = 1_500
const mostSaid = 16_384

/** Bytes of the machine's output, of which there are none before its first start. */
export const saidSoFar = ({ output }: Pick<MachineFiles, 'output'>): number =>
  statSync(output, { throwIfNoEntry: false })?.size ?? 0

/** The beginning of what the machine has put out after its first `from` bytes: a few pages in memory, which are read sooner than a thread is asked. */
export const saidSince = ({ output }: Pick<MachineFiles, 'output'>, from: number): string => {
  const file = openSync(output, 'r')
  try {
    const said = Buffer.allocUnsafe(mostSaid)
    return said.toString('utf8', 0, readSync(file, said, 0, mostSaid, from))
  } finally {
    closeSync(file)
  }
}

/** The end of what a file has after its first `from` bytes; a hijacked daemon may have made gigabytes of it. */
const tail = async (path: string, from = 0): Promise<string> => {
  try {
    await using file = await open(path)
    const { size } = await file.stat()
    const at = Math.max(from, size - tailBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, at)
    return buffer.toString('utf8', 0, bytesRead).trim()
  } catch (error) {
    if (errno(error) === 'ENOENT') return ''
    throw error
  }
}

/** What the runtime and the daemon said in this start, for an error: nobody looks for that in what an earlier life has put out, `from` bytes. */
export const lastWords = async (files: Pick<MachineFiles, 'output' | 'runtimeLog'>, from: number): Promise<string> => {
  const said = await tail(files.output, from)
  if (said) return said
  return (await tail(files.runtimeLog)) || 'it said nothing'
}

/** Resolves when the first process runs. Throws `driver_failed` with what the runtime said. */
export const startMachine = async ({ id, runtime, told, signal, ...stage }: StartInput): Promise<void> => {
  const { files } = stage
  const from = saidSoFar(files)
  // The others say on their standard error what goes wrong.
  const log = runtime.name === 'runsc' ? ['--log', files.runtimeLog, '--log-format', 'json'] : []
  const handsOn = stage.privatePlace ? ['--preserve-fds', '1'] : []
  const launch = [runtime.file, ...runtime.args, ...log, 'run', '--detach', ...handsOn, '--bundle', stageDir, id]
  const late = AbortSignal.timeout(startMs)
  const result = await runProcess({
    file: program('start-machine'),
    args: stageCommand({ ...stage, launch }),
    input: tellStart(told),
    env: toolEnvironment,
    capture: false,
    session: false,
    signal: signal ? AbortSignal.any([signal, late]) : late,
  })
  if (result.errno === 0 && result.code === 0 && !result.signal) return
  signal?.throwIfAborted()
  const reason = late.aborted ? `no start within ${startMs / 1000} s` : await lastWords(files, from)
  throw fail('driver_failed', {
    driver: 'oci',
    step: 'start',
    reason: `${reason}; run ${command('doctor')} to see whether this runtime can start anything`,
  })
}
