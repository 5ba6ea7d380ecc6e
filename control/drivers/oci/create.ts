/** Makes one machine. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../../../shared/errors.ts'
import type { Machine, MachineSpec } from '../driver.ts'
import { bootDocumentOf, sealOf } from './boot-document.ts'
import { boot, type Attempt } from './boot.ts'
import { isGeneric } from './claim/generic.ts'
import { checkSpec } from './check-spec.ts'
import { groupDirs } from './cgroup/hierarchy.ts'
import { groupOf, type Context } from './context.ts'
import { needOwnUsers, planDisk } from './disk/prepare.ts'
import { filesOf, type MachineFiles } from './layout.ts'
import { imageMark } from './image-files.ts'
import { readMarkerNow, writeMarkerNow, type Marker } from './marker.ts'
import type { Slot } from './net/link.ts'
import { addressOf, lookAt } from './phase.ts'
import { endMachine, removeMachine } from './remove.ts'
import { hostFiles, prepareAgain, prepareRoot, type RootInput } from './rootfs.ts'
import { settleRestore, swapBack, swapIn } from './snapshots/restore.ts'
import { chooseUsers } from './users/choose.ts'
import { convertUpper } from './users/convert.ts'
import { prepareVolumes } from './volumes/prepare.ts'

/** `earlier` is the marker of a life whose files are used again. */
const markerOf = ({ context, spec, slot, document }: Attempt, earlier: Marker | undefined): Marker => ({
  slot: slot.index,
  address: slot.address,
  gateway: slot.gateway,
  port: spec.daemonPort ?? context.bundle.port,
  ...(document && spec.channel
    ? { channel: { port: document.channel.port, generation: spec.channel.generation } }
    : {}),
  memoryMb: spec.memoryMb,
  cpus: spec.cpus,
  ready: false,
  kept: earlier !== undefined,
  sealed: earlier?.sealed ?? false,
  marks: earlier?.marks ?? 'user',
  held: spec.held ?? false,
  ...(earlier?.disk ? { disk: earlier.disk } : {}),
  ...(spec.volumes?.length ? { volumes: spec.volumes.map(({ id, ephemeral }) => ({ id, ephemeral })) } : {}),
  ...(earlier?.origin ? { origin: earlier.origin } : {}),
  anonymous: spec.anonymous ?? false,
})

/** Throws where machines cannot be held to a policy: one that should be is not started without. */
export const holdOutbound = async ({
  context: { outbound },
  spec,
  slot,
}: {
  context: Pick<Context, 'outbound'>
  spec: Omit<MachineSpec, 'channel'>
  slot: Pick<Slot, 'interface' | 'address'>
}): Promise<void> => {
  if (!spec.held) return
  if (!outbound)
    throw fail('driver_failed', {
      driver: 'oci',
      step: 'outbound policy',
      reason: 'this box cannot hold a machine to its outbound policy; run make doctor',
    })
  await outbound.hold(slot, spec.id)
}

/** Whom a machine asks for names. */
export const resolversOf = (
  { outbound, resolvers }: Pick<Context, 'outbound' | 'resolvers'>,
  { held }: Pick<MachineSpec, 'held'>,
): readonly string[] => (held && outbound ? [outbound.address] : resolvers)

/** Files of an earlier life are used again; a whole copy cannot tell the tenant's from the image's. */
const earlierLife = ({ overlay }: Context, files: MachineFiles): Marker | undefined => {
  const marker = overlay ? readMarkerNow(files.marker) : undefined
  return marker?.kept ? marker : undefined
}

/** Makes ready what the machine writes to; resolves with what a new disk of its own is made of. */
export const prepare = async (
  context: Context,
  root: RootInput,
  { disk, earlier }: { disk: Marker['disk']; earlier: Marker | undefined },
): Promise<string | undefined> => {
  if (disk) return context.disks.of(disk).prepare({ root, disk, earlier: earlier?.disk })
  await (earlier ? prepareAgain(root) : prepareRoot(root))
  return undefined
}

/** What the machine writes to, as it is to be. */
export const rootOf = (
  context: Pick<Context, 'dataDir' | 'overlay' | 'outbound' | 'resolvers'>,
  spec: Omit<MachineSpec, 'channel'>,
  { address }: Pick<Slot, 'address'>,
): RootInput => ({
  files: filesOf(context.dataDir, spec.id),
  image: spec.rootfs,
  hostname: spec.hostname,
  address,
  resolvers: resolversOf(context, spec),
  etc: spec.etc ?? {},
  nests: spec.nests ?? false,
  overlay: context.overlay,
})

/** Throws where a machine cannot nest, or its root would be root of the box: what it mounts must be a matter of its own users. */
const needNest = ({ runtime }: Context, { nests }: MachineSpec, firstId: number | undefined): void => {
  if (!nests) return
  const refuse = (reason: string) => fail('driver_failed', { driver: 'oci', step: 'users', reason })
  if (runtime.name === 'runsc')
    throw refuse('gVisor has no namespaces that images could be built in; set HUTCH_RUNTIME=auto to build images')
  if (firstId === undefined)
    throw refuse('a machine that builds images needs users of its own; set HUTCH_USER_NAMESPACES=on')
}

/** From a slot and an empty directory to a machine that runs. */
const make = async (attempt: Attempt, earlier: Marker | undefined): Promise<Marker> => {
  const { context, spec, slot, files, signal } = attempt
  const { overlay } = context
  const disk = await planDisk(context, spec, earlier)
  const firstId = await chooseUsers(attempt, earlier)
  needOwnUsers(disk, firstId)
  needNest(context, spec, firstId)
  if (earlier?.marks === 'trusted') await convertUpper(files, spec.rootfs)
  // A copy is the machine's own.
  const image = overlay ? imageMark(spec.rootfs) : undefined
  const marker: Marker = {
    ...markerOf(attempt, earlier),
    marks: 'user',
    ...(image ? { image } : {}),
    ...(firstId === undefined ? {} : { firstId }),
    ...(disk ? { disk } : {}),
  }
  writeMarkerNow(files.marker, marker)
  await holdOutbound(attempt)
  const root = { ...rootOf(context, spec, slot), generic: isGeneric(context, spec.rootfs), signal }
  const blank = await prepare(context, root, { disk, earlier })
  await prepareVolumes(context, spec, signal)
  await boot(attempt, marker, { blank, etc: hostFiles(root) })
  return marker
}

/** Whether there is anything of an earlier attempt: its directory is the first to be made and the last to go, unless by others' hands. */
const hasTraces = async ({ hierarchy, names, runtime }: Context, files: MachineFiles, id: string): Promise<boolean> =>
  existsSync(files.dir) ||
  existsSync(join(runtime.stateDir, id)) ||
  (await groupDirs(hierarchy, groupOf(names, id))).length > 0

/**
 * The machine, running; one that runs already is returned as it is, one half-made is made anew, one that has ended (its
 * first process did, or the box was restarted) is started again with the files it had.
 */
export const createMachine = async (
  context: Context,
  spec: MachineSpec,
  { signal, onRising }: Pick<Attempt, 'signal' | 'onRising'>,
): Promise<Machine> => {
  checkSpec(spec)
  const { dataDir, slots, log } = context
  const files = filesOf(dataDir, spec.id)
  const before = await lookAt(context, spec.id)
  if (before.phase === 'running' || before.phase === 'frozen') return before
  const found = earlierLife(context, files)
  // One that cannot have what it is to have stays as it is.
  if (found) await planDisk(context, spec, found)
  const clear = found ? endMachine : removeMachine
  if (await hasTraces(context, files, spec.id)) await clear(context, spec.id, signal)
  const earlier = found && (await swapIn(files, found))
  const slot = await slots.take(spec.id, signal)
  const document = bootDocumentOf(spec, context.bundle, slot, resolversOf(context, spec), sealOf(context, earlier))
  const attempt: Attempt = { context, spec, slot, files, document, signal, onRising }
  try {
    mkdirSync(files.dir, { mode: 0o700, recursive: earlier !== undefined })
    // A new one without a marker is half-made as well, and a file less on a disk that may be busy.
    if (earlier) writeMarkerNow(files.marker, { ...markerOf(attempt, earlier), firstId: earlier.firstId })
  } catch (error) {
    await slots.drop(spec.id)
    throw error
  }
  try {
    const marker = await make(attempt, earlier)
    await settleRestore(files)
    return { id: spec.id, phase: 'running', address: addressOf(spec.id, marker) }
  } catch (error) {
    // Nothing runs after a failure; what cannot be removed now is listed as half-made.
    await clear(context, spec.id).catch(also => log.warn('machine.left', { machine: spec.id, error: also }))
    if (earlier && (await swapBack(files))) log.warn('machine.not-restored', { machine: spec.id, error })
    throw error
  }
}
