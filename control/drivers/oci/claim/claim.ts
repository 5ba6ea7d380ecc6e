/** Gives a machine that was made for nobody to somebody: what is set from outside of it. */
import { truncate } from 'node:fs/promises'
import { fail } from '../../../../shared/errors.ts'
import type { Machine, MachineSpec } from '../../driver.ts'
import { isImageGone } from '../image-files.ts'
import { thawGroup } from '../cgroup/freezer.ts'
import { hurryCpu, limitMemory } from '../cgroup/limits.ts'
import { groupOf, type Context } from '../context.ts'
import { checkSpec } from '../check-spec.ts'
import { holdOutbound, resolversOf } from '../create.ts'
import { boundDisk } from '../disk/bound.ts'
import { leastDiskMb, promisedMb } from '../disk/shape.ts'
import { filesOf } from '../layout.ts'
import { readMarker, writeMarker, type Marker } from '../marker.ts'
import { interfaceOf } from '../net/link.ts'
import { addressOf } from '../phase.ts'
import { hostFiles } from '../rootfs.ts'
import { sharedMemoryMb } from '../spec/mounts.ts'
import { enterMachine } from './enter.ts'

type Spec = Omit<MachineSpec, 'channel'>

const names = (context: Context, spec: Spec, { address, firstId = 0 }: Marker): Promise<void> => {
  const { hostname, memoryMb, etc = {} } = spec
  return enterMachine(context.hierarchy, groupOf(context.names, spec.id), {
    hostname,
    shmBytes: sharedMemoryMb(memoryMb) * 1024 * 1024,
    rootId: firstId,
    etc: hostFiles({ hostname, address, resolvers: resolversOf(context, spec), etc }),
  })
}

/** Its disk as it is to be from now on, which it is promised; undefined where it has none. */
const claimDisk = async (
  { disks }: Context,
  { disk }: Marker,
  { id, storageMb }: Pick<Spec, 'id' | 'storageMb'>,
): Promise<Marker['disk']> => {
  if (!disk || storageMb === undefined) return disk
  if (storageMb > disk.mb)
    throw fail('driver_failed', { driver: 'oci', step: 'claim', reason: `its disk has ${disk.mb} MB, and no more` })
  const bounded = { ...disk, room: Math.max(leastDiskMb, storageMb) }
  await disks.pledges.promise(id, promisedMb(bounded))
  return bounded
}

export const claimMachine = async (context: Context, spec: Spec): Promise<Machine> => {
  checkSpec(spec)
  const { id, memoryMb, cpus, held = false } = spec
  const files = filesOf(context.dataDir, id)
  const marker = await readMarker(files.marker)
  if (!marker?.ready || !marker.anonymous)
    throw fail('driver_failed', { driver: 'oci', step: 'claim', reason: `no machine ${id} was made for nobody` })
  if (await isImageGone(marker))
    throw fail('driver_failed', { driver: 'oci', step: 'claim', reason: 'the files of its image are gone' })
  const disk = await claimDisk(context, marker, spec)
  const group = groupOf(context.names, id)
  // Nothing is in it but its daemon, which looks at none of it before it is told to: it may wake meanwhile.
  const steps = await Promise.allSettled([
    names(context, spec, marker),
    limitMemory(context.hierarchy, group, memoryMb),
    hurryCpu(context.hierarchy, group),
    holdOutbound({
      context,
      spec,
      slot: { address: marker.address, interface: interfaceOf(context.names, marker.slot) },
    }),
    truncate(files.output),
    disk && boundDisk(files, disk),
    writeMarker(files.marker, { ...marker, memoryMb, cpus, held, ...(disk ? { disk } : {}) }),
    thawGroup(context.hierarchy, group, context.clock),
  ])
  // Only when none of them goes on: whoever hears of a failure removes the machine.
  const broken = steps.find(step => step.status === 'rejected')
  if (broken) throw broken.reason
  return { id, phase: 'running', address: addressOf(id, marker) }
}
