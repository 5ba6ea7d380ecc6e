/** Opens what the verbs of the driver share, and closes it. */
import { mkdir, open, realpath } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fail, isError } from '../../../shared/errors.ts'
import { semaphore } from '../../../shared/sync.ts'
import type { DriverConfig, DriverDeps } from '../module.ts'
import { readBundle, releasesBeside } from './bundle.ts'
import { openHierarchy, type Hierarchy } from './cgroup/hierarchy.ts'
import { createQuickMoves, ownList } from './cgroup/quick-moves.ts'
import { prepareParent, removeParent } from './cgroup/parent.ts'
import { isPopulated } from './cgroup/processes.ts'
import { endReclaims } from './cgroup/reclaim.ts'
import { groupOf, type Context, type Runtime } from './context.ts'
import { openDisks } from './disk/open.ts'
import { filesOf, machinesDir } from './layout.ts'
import { machineIds } from './list.ts'
import { watchLocks } from './locks/watch.ts'
import { readMarker } from './marker.ts'
import { namesOf, openStage, tagOf, type Names } from './names.ts'
import { claimBlock } from './net/block.ts'
import { limitOf } from './net/connections.ts'
import { allowForwarding } from './net/forwarding.ts'
import { guardFences } from './net/guard.ts'
import { allowedNetwork, subnetOf } from '../../base/config/ipv4.ts'
import { interfaceOf } from './net/link.ts'
import { openOutbound, type Held } from './net/outbound.ts'
import { networkSlots } from './net/slots.ts'
import { openOutputs } from './outputs.ts'
import { carriesOverlay } from './overlay.ts'
import { readPrivileges } from './privileges.ts'
import { withScratch } from './probe/check.ts'
import { chooseRuntime } from './probe/choose-runtime.ts'
import { chooseStack, ownNetworkStack } from './probe/runtime.ts'
import { hostResolvers } from './resolvers.ts'
import { runtimeOf } from './runtime.ts'
import { noSlot } from './snapshots/mount.ts'
import { openSnapshots } from './snapshots/open.ts'
import { hasRoomForAio, raiseSharedLimits } from './shared-limits.ts'
import { removeStraySlots, removeTraces, sweepDead } from './sweep.ts'
import { untilUnswept } from './sweep-turn.ts'
import { createImageCheck } from './users/layers.ts'
import { openUsers } from './users/open.ts'
import { openViews } from './view/views.ts'

export interface Opened {
  readonly context: Context
  /** Leaves the machines running; with none left, nothing of the instance stays on the box. */
  close(): Promise<void>
}

interface Taken {
  /** Numbers of the slots that machines of this instance have, with whose they are. */
  readonly slots: ReadonlyMap<number, string>
  /** Those that are held to a policy. */
  readonly held: readonly Held[]
}

const takenSlots = async (context: Pick<Context, 'dataDir' | 'hierarchy' | 'names'>): Promise<Taken> => {
  const { dataDir, hierarchy, names } = context
  const slots = new Map<number, string>()
  const held = new Map<number, Held>()
  for (const id of await machineIds(context)) {
    const marker = await readMarker(filesOf(dataDir, id).marker)
    // One that was given the files of a snapshot, and has never run, has no slot.
    if (!marker || marker.slot === noSlot) continue
    const { slot, address } = marker
    // One that has ended may have given it back since, and another taken it.
    if (slots.has(slot) && !(await isPopulated(hierarchy, groupOf(names, id)))) continue
    slots.set(slot, id)
    held.delete(slot)
    if (marker.held) held.set(slot, { machine: id, address, interface: interfaceOf(names, slot) })
  }
  return { slots, held: [...held.values()] }
}

const openRuntime = async (
  name: string,
  names: Names,
  dataDir: string,
  { log, clock }: DriverDeps,
): Promise<Runtime> => {
  const stack = await withScratch(dataDir, clock, undefined, probe => chooseStack(name, probe))
  if (name === 'runsc' && stack !== 'own') log.warn('runsc.stack', { stack, next: ownNetworkStack.next })
  const runtime = runtimeOf(name, names, stack)
  await mkdir(runtime.stateDir, { recursive: true, mode: 0o700 })
  return runtime
}

/** True when roots are overlays; copies are said aloud. */
const openOverlay = async (dataDir: string, { log }: DriverDeps): Promise<boolean> => {
  const overlay = await carriesOverlay(dataDir)
  if (!overlay)
    log.warn('overlay.missing', { dataDir, next: 'roots are whole copies: slow and large; use ext4 or xfs' })
  return overlay
}

const openGroups = async (hierarchy: Hierarchy, { cgroup }: Names): Promise<void> => {
  await prepareParent(hierarchy, cgroup)
  await endReclaims(hierarchy, cgroup)
}

const openNetwork = async (
  config: DriverConfig,
  deps: DriverDeps,
  base: Pick<Context, 'dataDir' | 'hierarchy' | 'names'>,
  firstId: number | undefined,
) => {
  const { names, dataDir } = base
  const subnet = subnetOf(config.subnet)
  const allowed = (config.allowNetworks ?? []).map(allowedNetwork)
  const block = await unlessUsedUp(base.hierarchy, deps, () => claimBlock(subnet, names, dataDir))
  const resolvers = await hostResolvers()
  const [connections, datagrams] = await Promise.all([limitOf('connections', deps), limitOf('datagrams', deps)])
  const { slots: taken, held } = await takenSlots(base)
  const outbound = await openOutbound({ names, block, taken, held }, deps)
  const limits = { connections, datagrams }
  const fences = { names, subnet, block, hostPorts: deps.hostPorts ?? [], resolvers, allowed, ...limits, outbound }
  const guard = await guardFences(fences, deps)
  await allowForwarding(deps.log)
  await removeStraySlots(names, [...taken.keys()])
  const ahead = config.slotsAhead ?? 8
  const slots = networkSlots({ names, block, firstId, ahead, taken }, { log: deps.log, beforeMaking: guard.mend })
  return { block, resolvers, guard, slots, outbound }
}

/** Whether there is room for asynchronous I/O of machines. */
const raiseTables = async (log: DriverDeps['log']): Promise<boolean> => {
  await raiseSharedLimits(log)
  return hasRoomForAio()
}

/** With the last machine gone nothing of the instance stays on the box. */
const leave = async (context: Context): Promise<void> => {
  const { names, hierarchy } = context
  if ((await machineIds(context)).length > 0) return
  await removeParent(hierarchy, names.cgroup)
  await removeTraces(names)
}

/** What instances have claimed that are over is needed when nothing else is left. */
const unlessUsedUp = async <T>(
  hierarchy: Hierarchy,
  { log, clock }: DriverDeps,
  claim: () => Promise<T>,
): Promise<T> => {
  try {
    return await claim()
  } catch (error) {
    if (!isError(error, 'busy')) throw error
    await sweepDead(hierarchy, { log, clock })
    return claim()
  }
}

/** Sweeps after instances that are over while this one serves; the returned function waits for those it has begun with. */
const sweepInBackground = (hierarchy: Hierarchy, { log, clock }: DriverDeps): (() => Promise<void>) => {
  const over = new AbortController()
  const swept = sweepDead(hierarchy, { log, clock, signal: over.signal }).catch((error: unknown) =>
    log.warn('instance.sweep.failed', { error }),
  )
  return () => {
    over.abort()
    return swept
  }
}

/** Throws `driver_failed` naming what the box lacks, `invalid_argument` naming a variable that cannot be used. */
export const openContext = async (settings: DriverConfig, deps: DriverDeps): Promise<Opened> => {
  const { log, clock } = deps
  if (process.getuid?.() !== 0)
    throw fail('driver_failed', { driver: 'oci', step: 'open', reason: 'namespaces and mounts need root; run as root' })
  subnetOf(settings.subnet)
  const bundle = await readBundle(settings.bundleDir)
  const bundleDir = await realpath(settings.bundleDir)
  const releasesDir = await releasesBeside(bundleDir)
  await mkdir(machinesDir(settings.dataDir), { recursive: true, mode: 0o700 })
  await openStage()
  const dataDir = await realpath(settings.dataDir)
  const names = namesOf(tagOf(dataDir))
  await untilUnswept(names.tag, clock)
  const hierarchy = await openHierarchy()
  const { runtime: chosen, hasOwnUsers } = await chooseRuntime(settings, deps)
  const config = { ...settings, runtime: chosen }
  // First of what leaves something behind: an operator who insists may be refused.
  const firstId = await unlessUsedUp(hierarchy, deps, () => openUsers(config, deps, { names, dataDir, hasOwnUsers }))
  const runtime = await openRuntime(config.runtime, names, dataDir, deps)
  const overlay = await openOverlay(dataDir, deps)
  const disks = await openDisks(config, deps, { dataDir, names, hierarchy, overlay, firstId })
  const shareBlocks = await openSnapshots({ dataDir, disks, hierarchy, names }, deps)
  const privileges = await readPrivileges()
  const aio = await raiseTables(log)
  await openGroups(hierarchy, names)
  const stopTrimming = await openOutputs({ names, dataDir }, deps)
  const { guard, ...network } = await openNetwork(config, deps, { dataDir, hierarchy, names }, firstId)
  // Held open: while this server makes sandboxes of the bundle, a later build does not take it away.
  const hold = await open(bundleDir)
  const own = { dataDir, names, runtime, bundleDir, bundle, releasesDir, hierarchy, overlay, disks, privileges }
  const views = runtime.name === 'runsc' ? undefined : await openViews({ hierarchy, names }, { log, clock })
  const context: Context = {
    ...own,
    ...network,
    shareBlocks,
    log,
    clock,
    views,
    pidsLimit: config.pidsLimit ?? 4_096,
    aio,
    ownUsersRequired: config.userNamespaces === 'on',
    strangerInImage: createImageCheck(),
    quickMoves: createQuickMoves(ownList(hierarchy), { clock, log }),
    starting: semaphore(availableParallelism() * 2),
  }
  const stopWatching = runtime.name === 'runsc' ? undefined : watchLocks({ hierarchy, names }, { log, clock })
  await views?.adopt(await machineIds(context))
  const stopSweeping = sweepInBackground(hierarchy, deps)
  const close = async () => {
    await stopSweeping()
    stopTrimming()
    await stopWatching?.()
    await guard.close()
    await network.slots.close()
    await hold.close()
    await views?.close()
    await leave(context)
  }
  return { context, close }
}
