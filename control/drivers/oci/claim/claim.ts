/** Gives a machine that was made for nobody to somebody: what is set from outside of it. */
import { truncateSync } from 'node:fs'
import { setImmediate as turnOver } from 'node:timers/promises'
import { fail } from '../../../../shared/errors.ts'
import { rootStep, type Machine, type MachineSpec, type Tell } from '../../driver.ts'
import { imageMark, isImageGone } from '../image-files.ts'
import { thawing } from '../cgroup/freezer.ts'
import { boundCpu, hurrying, limitingMemory, weighCpu } from '../cgroup/limits.ts'
import { groupOf, type Context } from '../context.ts'
import { checkSpec } from '../check-spec.ts'
import { holdOutbound, prepare, resolversOf, rootOf } from '../create.ts'
import { isFile } from '../disk/kind.ts'
import { leastDiskMb, promisedMb } from '../disk/shape.ts'
import { filesOf } from '../layout.ts'
import { markerToBe, putMarker, readMarkerNow, writeMarkerNow, type Marker } from '../marker.ts'
import { interfaceOf } from '../net/link.ts'
import { addressOf } from '../phase.ts'
import { hostFiles } from '../rootfs.ts'
import { sharedMemoryMb } from '../spec/mounts.ts'
import { saidSoFar } from '../start.ts'
import { enterMachine } from './enter.ts'
import { isGeneric, recast } from './generic.ts'

type Spec = Omit<MachineSpec, 'channel'>

/**
 * Wakes it, with its names, limits and files of /etc, and lays out what its marker will be. Nothing is in it but its daemon, which looks at
 * none of it before it is told to.
 */
const wake = (context: Context, spec: Spec, before: Marker, after: Marker): Promise<void> => {
  const { hierarchy, dataDir } = context
  const { id, hostname, memoryMb, etc = {} } = spec
  const { address, firstId = 0 } = before
  const group = groupOf(context.names, id)
  return enterMachine(hierarchy, group, {
    hostname,
    shmBytes: sharedMemoryMb(memoryMb) * 1024 * 1024,
    rootId: firstId,
    etc: hostFiles({ hostname, address, resolvers: resolversOf(context, spec), etc }),
    controls: [
      hurrying(hierarchy, group),
      ...thawing(hierarchy, group),
      ...limitingMemory(hierarchy, group, before.memoryMb, memoryMb),
    ],
    note: markerToBe(filesOf(dataDir, id).marker, after),
  })
}

/** Its disk as it is to be from now on, which it is promised; undefined where it has none. */
const claimDisk = async (
  { disks }: Context,
  { disk }: Marker,
  { id, storageMb }: Pick<Spec, 'id' | 'storageMb'>,
): Promise<Marker['disk']> => {
  if (!disk || storageMb === undefined) return disk
  const most = isFile(disk) ? disk.mb : disks.of(disk).claimableMb
  if (storageMb > most)
    throw fail('driver_failed', { driver: 'oci', step: 'claim', reason: `its disk has ${most} MB, and no more` })
  const room = Math.max(leastDiskMb, storageMb)
  const bounded = { ...disk, room, ...(isFile(disk) ? {} : { mb: room }) }
  await disks.pledges.promise(id, promisedMb(bounded))
  return bounded
}

/**
 * A generic machine gets the image's root, and is a machine of that image from then on. A server that dies meanwhile leaves it half-made,
 * to be removed.
 */
const withRoot = async (context: Context, marker: Marker, spec: Spec): Promise<Marker> => {
  if (!isGeneric(context, marker.image?.path)) return marker
  const files = filesOf(context.dataDir, spec.id)
  const stranger = marker.firstId === undefined ? undefined : await context.strangerInImage(spec.rootfs)
  if (stranger !== undefined) throw fail('driver_failed', { driver: 'oci', step: rootStep, reason: stranger })
  writeMarkerNow(files.marker, { ...marker, ready: false })
  // What is on a disk of its own is made by the program that mounts it.
  if (!isFile(marker.disk))
    await prepare(context, rootOf(context, spec, marker), { disk: marker.disk, earlier: undefined })
  await recast(context, { files, marker, spec })
  const image = imageMark(spec.rootfs)
  return { ...marker, ...(image ? { image } : {}) }
}

/** Waits for all of it: whoever hears of a failure removes the machine, in which nothing may go on then. */
const all = async (steps: readonly Promise<unknown>[]): Promise<void> => {
  const broken = (await Promise.allSettled(steps)).find(step => step.status === 'rejected')
  if (broken) throw broken.reason
}

const needAnonymous = (context: Context, id: string): Marker => {
  const marker = readMarkerNow(filesOf(context.dataDir, id).marker)
  if (!marker?.ready || !marker.anonymous)
    throw fail('driver_failed', { driver: 'oci', step: 'claim', reason: `no machine ${id} was made for nobody` })
  if (isImageGone(marker))
    throw fail('driver_failed', { driver: 'oci', step: 'claim', reason: 'the files of its image are gone' })
  return marker
}

export const claimMachine = async (context: Context, spec: Spec, tell: Tell): Promise<Machine> => {
  checkSpec(spec)
  const { hierarchy } = context
  const { id, memoryMb, cpus, held = false } = spec
  const files = filesOf(context.dataDir, id)
  const anonymous = needAnonymous(context, id)
  const disk = await claimDisk(context, anonymous, spec)
  const marker = await withRoot(context, { ...anonymous, ...(disk ? { disk } : {}) }, spec)
  const group = groupOf(context.names, id)
  const slot = { address: marker.address, interface: interfaceOf(context.names, marker.slot) }
  // Empty since it was made, unless it has said something since.
  if (saidSoFar(files) > 0) truncateSync(files.output)
  await all([wake(context, spec, marker, { ...marker, memoryMb, cpus, held }), holdOutbound({ context, spec, slot })])
  const machine: Machine = { id, phase: 'running', address: addressOf(id, marker) }
  const told = tell(machine)
  // What its daemon does not look at is done while it is told: once that is on its way, and a disk that is busy holds nobody up.
  const rest = async (): Promise<void> => {
    await turnOver()
    await boundCpu(hierarchy, group, id, cpus)
    await context.views?.renew(id)
    if (disk) context.disks.of(disk).bound(files, disk)
    await putMarker(files.marker)
  }
  await all([told, rest()])
  weighCpu(hierarchy, group, cpus)
  return machine
}
