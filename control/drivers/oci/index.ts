/**
 * Machines as OCI containers on this box: runc, runsc or crun by configuration.
 *
 *     open     names from the data directory → sweep the dead → claim a block → fences → spare network slots
 *     create   slot from the pool → directories and config.json → overlay + runtime in one process → daemon answers
 *     remove   kill by control group → runtime state → group → slot → directory, marker last
 *
 * Machines outlive the host process: close leaves them running, the next open finds them.
 */
import { mkdir, realpath, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fail } from '../../../shared/errors.ts'
import { semaphore } from '../../../shared/sync.ts'
import type { Driver } from '../driver.ts'
import type { DriverConfig, DriverDeps } from '../index.ts'
import { readBundle } from './bundle.ts'
import { freezeGroup, thawGroup } from './cgroup/freezer.ts'
import { openHierarchy } from './cgroup/hierarchy.ts'
import { limitCpu, limitMemory } from './cgroup/limits.ts'
import { prepareParent, removeParent } from './cgroup/parent.ts'
import { groupStats } from './cgroup/stats.ts'
import { groupOf, type Context } from './context.ts'
import { createMachine } from './create.ts'
import { allowForwarding } from './net/forwarding.ts'
import { filesOf, machinesDir } from './layout.ts'
import { listMachines, machineIds } from './list.ts'
import { readMarker, writeMarker } from './marker.ts'
import { namesOf, registryDir, tagOf } from './names.ts'
import { claimBlock, releaseBlock } from './net/block.ts'
import { fencesStand, lowerFences, raiseFences } from './net/firewall.ts'
import { allowedNetwork, subnetOf } from './net/ipv4.ts'
import { networkSlots } from './net/slots.ts'
import { carriesOverlay } from './overlay.ts'
import { readPrivileges } from './privileges.ts'
import { probeOci } from './probe.ts'
import { withScratch } from './probe/check.ts'
import { chooseStack, ownNetworkStack } from './probe/runtime.ts'
import { removeMachine } from './remove.ts'
import { hostResolvers } from './resolvers.ts'
import { runtimeOf } from './runtime.ts'
import { trimOutputs } from './outputs.ts'
import { removeStraySlots, sweepDead } from './sweep.ts'

type Opened = Context & { readonly closeAll: () => Promise<void> }

/** Numbers of the slots that machines of this instance hold. */
const heldSlots = async (context: Pick<Context, 'dataDir' | 'hierarchy' | 'names'>): Promise<number[]> => {
  const held: number[] = []
  for (const id of await machineIds(context)) {
    const marker = await readMarker(filesOf(context.dataDir, id).marker)
    if (marker) held.push(marker.slot)
  }
  return held
}

const open = async (config: DriverConfig, deps: DriverDeps): Promise<Opened> => {
  const { log, clock } = deps
  const { slotsAhead = 8, pidsLimit = 4_096, allowNetworks = [] } = config
  if (process.getuid?.() !== 0)
    throw fail('driver_failed', { driver: 'oci', step: 'open', reason: 'namespaces and mounts need root; run as root' })
  const subnet = subnetOf(config.subnet)
  const allowed = allowNetworks.map(allowedNetwork)
  const bundle = await readBundle(config.bundleDir)
  const bundleDir = await realpath(config.bundleDir)
  await mkdir(machinesDir(config.dataDir), { recursive: true, mode: 0o700 })
  const dataDir = await realpath(config.dataDir)
  const names = namesOf(tagOf(dataDir))
  const stack = await withScratch(dataDir, clock, undefined, probe => chooseStack(config.runtime, probe))
  if (config.runtime === 'runsc' && stack !== 'own') log.warn('runsc.stack', { stack, next: ownNetworkStack.next })
  const runtime = runtimeOf(config.runtime, names, stack)
  const hierarchy = await openHierarchy()
  await mkdir(registryDir, { recursive: true, mode: 0o755 })
  await sweepDead(hierarchy, { log, clock })
  await mkdir(runtime.stateDir, { recursive: true, mode: 0o700 })
  const block = await claimBlock(subnet, names, dataDir)
  await prepareParent(hierarchy, names.cgroup)
  const resolvers = await hostResolvers()
  const privileges = await readPrivileges()
  const fences = { names, subnet, block, hostPorts: deps.hostPorts ?? [], resolvers, allowed }
  await raiseFences(fences)
  await allowForwarding(log)
  const taken = await heldSlots({ dataDir, hierarchy, names })
  await removeStraySlots(names, taken)
  const overlay = await carriesOverlay(dataDir)
  if (!overlay)
    log.warn('overlay.missing', { dataDir, next: 'roots are whole copies: slow and large; use ext4 or xfs' })
  const oneAtATime = semaphore(1)
  const mendFences = () =>
    oneAtATime(async () => {
      if (await fencesStand(names)) return
      log.warn('fences.mended', { chain: names.chain })
      await raiseFences(fences)
    })
  const slots = networkSlots({ names, block, ahead: slotsAhead, taken }, { log, beforeMaking: mendFences })
  // Somebody may flush the box's firewall at any time; new slots check, and so does the clock.
  const stop = clock.every(15_000, () => void mendFences().catch(error => log.error('fences.down', { error })))
  const context: Context = {
    dataDir,
    names,
    runtime,
    bundleDir,
    bundle,
    hierarchy,
    slots,
    block,
    resolvers,
    overlay,
    pidsLimit,
    privileges,
    log,
    clock,
    starting: semaphore(availableParallelism() * 2),
  }
  const stopTrimming = clock.every(
    30_000,
    () => void trimOutputs(dataDir).catch(error => log.warn('output.untrimmed', { error })),
  )
  const closeAll = async () => {
    stop()
    stopTrimming()
    await slots.close()
    if ((await machineIds(context)).length > 0) return
    await removeStraySlots(names, [])
    await removeParent(hierarchy, names.cgroup)
    await lowerFences(names)
    await rm(names.runDir, { recursive: true, force: true })
    await releaseBlock(names)
  }
  return { ...context, closeAll }
}

const resize = async (context: Context, id: string, limits: { memoryMb: number; cpus: number }): Promise<void> => {
  const { hierarchy, names, dataDir } = context
  const group = groupOf(names, id)
  await limitMemory(hierarchy, group, limits.memoryMb)
  await limitCpu(hierarchy, group, id, limits.cpus)
  const files = filesOf(dataDir, id)
  const marker = await readMarker(files.marker)
  if (marker) await writeMarker(files.marker, { ...marker, memoryMb: limits.memoryMb, cpus: limits.cpus })
}

/** Opens the driver; throws `driver_failed` naming the step and the next action when the box lacks something. */
export const openOci = async (config: DriverConfig, deps: DriverDeps): Promise<Driver> => {
  const context = await open(config, deps)
  const { hierarchy, names, clock } = context
  const group = (id: string) => groupOf(names, id)
  return {
    name: 'oci',
    probe: signal => probeOci(config, deps, signal),
    create: (spec, signal) => createMachine(context, spec, signal),
    list: signal => listMachines(context, signal),
    remove: (id, signal) => removeMachine(context, id, signal),
    stats: id => groupStats(hierarchy, group(id)),
    freezer: {
      freeze: id => freezeGroup(hierarchy, group(id), clock),
      thaw: id => thawGroup(hierarchy, group(id), clock),
    },
    resizer: { resize: (id, limits) => resize(context, id, limits) },
    close: () => context.closeAll(),
  }
}
