/**
 * Machines as OCI containers on this box: runc, runsc or crun by configuration.
 *
 *     open     names from the data directory → sweep the dead → claim a block → fences → spare network slots
 *     create   slot from the pool → directory and marker → overlay + runtime in one process, told everything on its input → daemon answers
 *     end      kill by control group → runtime state → group → slot; the directory stays
 *     remove   kill by control group → runtime state → group → slot → directory, marker last
 *
 * Machines outlive the host process: close leaves them running, the next open finds them.
 */
import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { Driver } from '../driver.ts'
import type { DriverConfig, DriverDeps } from '../module.ts'
import { freezeGroup, thawGroup } from './cgroup/freezer.ts'
import { processesIn } from './cgroup/processes.ts'
import { reclaimGroup } from './cgroup/reclaim.ts'
import { groupStats } from './cgroup/stats.ts'
import { claimMachine } from './claim/claim.ts'
import { openGenericRoot } from './claim/generic.ts'
import { growNow } from './disk/grow.ts'
import { shareOf } from './disk/used.ts'
import { groupOf, type Context } from './context.ts'
import { createMachine } from './create.ts'
import { ociMounter } from './drives/mounter.ts'
import { filesOf } from './layout.ts'
import { listMachines } from './list.ts'
import { readMarker } from './marker.ts'
import { processAt } from './net/process-at.ts'
import { openContext } from './open.ts'
import { probeOci } from './probe.ts'
import { endMachine, removeMachine } from './remove.ts'
import { flushMachine } from './snapshots/cut.ts'
import { ociSnapshotter } from './snapshots/index.ts'
import { volumeFile } from './volumes/files.ts'
import { ociVolumes } from './volumes/volumes.ts'

/** Without an overlay nothing outlives a machine's end: a whole copy cannot tell the tenant's files from the image's. */
const keptFiles = async (context: Context, id: string): Promise<readonly string[]> => {
  const { dataDir, overlay } = context
  const files = filesOf(dataDir, id)
  const found = overlay ? await readMarker(files.marker) : undefined
  if (!found?.kept) return []
  const attached = (found.volumes ?? [])
    .filter(({ ephemeral }) => !ephemeral)
    .map(volume => volumeFile(dataDir, volume.id))
  if (found.disk || attached.length > 0) await flushMachine(context, id, attached.length > 0)
  const kept = found.disk ? context.disks.of(found.disk).kept(files) : [files.upper]
  return [files.marker, ...[...kept, ...attached].filter(path => existsSync(path))].map(path => relative(dataDir, path))
}

const storageOf = (context: Context): Pick<Driver, 'storage'> => {
  const { made, pledges } = context.disks
  if (!made) return {}
  return {
    storage: {
      claimableMb: made.claimableMb,
      room: pledges.room,
      share: id => shareOf(context.dataDir, id),
      grow: (id, mb) => growNow(context, id, mb),
    },
  }
}

const outboundOf = (
  { hierarchy, names }: Context,
  outbound: NonNullable<Context['outbound']>,
  { subnet }: DriverConfig,
): NonNullable<Driver['outbound']> => ({
  ...outbound,
  machineNetworks: [subnet],
  async processAt(address, port) {
    const machine = outbound.machineAt(address)
    return machine === undefined ? undefined : processAt(await processesIn(hierarchy, groupOf(names, machine)), port)
  },
})

/** Opens the driver; throws `driver_failed` naming the step and the next action when the box lacks something. */
export const openOci = async (config: DriverConfig, deps: DriverDeps): Promise<Driver> => {
  const { context, close } = await openContext(config, deps)
  const { hierarchy, names, runtime, clock } = context
  const group = (id: string) => groupOf(names, id)
  return {
    name: 'oci',
    probe: signal => probeOci({ ...config, runtime: runtime.name }, deps, signal),
    create: (spec, signal, onRising) => createMachine(context, spec, { signal, onRising }),
    list: signal => listMachines(context, signal),
    end: (id, signal) => endMachine(context, id, signal),
    remove: (id, signal) => removeMachine(context, id, signal),
    stats: id => groupStats(hierarchy, group(id)),
    freezer: {
      freeze: id => freezeGroup(hierarchy, group(id), clock),
      thaw: id => thawGroup(hierarchy, group(id), clock),
      reclaim: (id, signal) => reclaimGroup(hierarchy, group(id), { clock, signal }),
    },
    ...storageOf(context),
    volumes: ociVolumes(context),
    keeper: { filesOf: id => keptFiles(context, id) },
    // A whole copy cannot tell the tenant's files from the image's.
    ...(context.overlay ? { snapshotter: ociSnapshotter(context) } : {}),
    // What runs on gVisor has its mounts and names in gVisor, where nothing of this kernel comes.
    ...(runtime.name === 'runsc'
      ? {}
      : {
          mounter: ociMounter(context),
          claimer: {
            claim: (spec, tell) => claimMachine(context, spec, tell),
            // A whole copy is the machine's own, and takes as long as it takes.
            ...(context.overlay ? { genericRoot: openGenericRoot(context.dataDir) } : {}),
          },
        }),
    ...(context.outbound ? { outbound: outboundOf(context, context.outbound, config) } : {}),
    close,
  }
}
