/** Files of a snapshot for a machine that is new. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { locate, run, tool } from '../command.ts'
import type { Context } from '../context.ts'
import { fileInstead } from '../disk/from-project.ts'
import type { Disk } from '../disk/kind.ts'
import { promisedMb } from '../disk/shape.ts'
import { filesOf, type MachineFiles } from '../layout.ts'
import { readMarker, writeMarkerNow, type Marker } from '../marker.ts'
import { stageDir } from '../names.ts'
import { program } from '../native/programs.ts'
import { removeMachine } from '../remove.ts'
import { copyTree, syncTree } from './copy.ts'
import { needManifest, placeOf, type Manifest } from './place.ts'

/** The network slot of a machine that has never run. */
export const noSlot = -1

/** What the copy is bounded by: a number of a project is one machine's. */
const diskFor = ({ disks }: Context, files: MachineFiles, disk: Manifest['disk']): Disk | undefined => {
  if (!disk || disk.project === undefined) return disk
  const planned = disks.made?.plan(files, {}, disk.room)
  return planned?.project === undefined ? fileInstead(disk) : planned
}

/** Of each type that there was, where the box can make them; they are unique to the machine either way. */
const newKeys = (): string[] => {
  const keygen = locate('ssh-keygen')
  if (!keygen) return []
  const make = `for type in $KEYS; do ${keygen} -q -N "" -C "" -t $type -f ssh_host_\${type}_key || exit 1; done`
  return [tool('sh'), '-c', make]
}

/**
 * What the daemon has kept of the source goes, and so does what told the source from others. The private place stays: a daemon
 * without one would take in what a tenant has put in its old place.
 */
const renewIdentity = async (files: MachineFiles, signal: AbortSignal | undefined): Promise<void> => {
  const script = [
    'rm -rf --one-file-system -- work private.new',
    'if [ -d private ]; then find private -xdev -mindepth 1 -delete; else mkdir -m 700 private; fi',
    'exec "$0" "$@"',
  ].join(' && ')
  const command = [tool('sh'), '-c', script, program('renew-identity'), ...newKeys()]
  const isDisk = existsSync(files.disk)
  const [file, ...args] = isDisk
    ? [program('with-disk'), stageDir, files.disk, ...command]
    : [tool('env'), '--chdir', files.dir, ...command]
  await run({ step: 'new identity', file: file as string, args, signal, timeoutMs: 60_000 })
}

export const mountSnapshot = async (
  context: Context,
  id: string,
  machine: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const { dataDir, disks } = context
  const files = filesOf(dataDir, machine)
  const before = await readMarker(files.marker)
  if (before?.kept) return
  const { trees, disk: given, firstId, memoryMb, cpus } = await needManifest(dataDir, id)
  await removeMachine(context, machine, signal)
  const disk = diskFor(context, files, given)
  if (disk) await disks.pledges.promise(machine, promisedMb(disk))
  const marker: Marker = {
    slot: noSlot,
    address: '',
    gateway: '',
    port: 0,
    memoryMb,
    cpus,
    ready: false,
    kept: false,
    anonymous: false,
    held: false,
    sealed: true,
    marks: 'user',
    origin: id,
    ...(firstId === undefined ? {} : { firstId }),
    ...(disk ? { disk } : {}),
  }
  try {
    await mkdir(files.dir, { recursive: true, mode: 0o700 })
    writeMarkerNow(files.marker, marker)
    for (const tree of trees) await copyTree({ from: placeOf(dataDir, id).dir, to: files.dir, tree, signal })
    await renewIdentity(files, signal)
    for (const tree of trees) await syncTree(files.dir, tree, signal)
    writeMarkerNow(files.marker, { ...marker, kept: true })
  } catch (error) {
    await removeMachine(context, machine)
    throw error
  }
}
