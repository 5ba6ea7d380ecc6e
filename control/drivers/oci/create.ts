/** Makes one machine. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fail } from '../../../shared/errors.ts'
import type { Machine, MachineSpec } from '../driver.ts'
import { limitCpu } from './cgroup/limits.ts'
import { processesIn } from './cgroup/processes.ts'
import { groupOf, type Context } from './context.ts'
import { filesOf, type MachineFiles } from './layout.ts'
import { writeMarker, type Marker } from './marker.ts'
import type { Slot } from './net/link.ts'
import { lookAt } from './phase.ts'
import { untilReady } from './ready.ts'
import { removeMachine } from './remove.ts'
import { prepareRoot } from './rootfs.ts'
import { runtimeConfig } from './spec/config.ts'
import { lastWords, overlayOptions, startMachine } from './start.ts'

/** The smallest memory in which a daemon starts. */
const leastMemoryMb = 64

const check = (spec: MachineSpec): void => {
  if (!(spec.memoryMb >= leastMemoryMb))
    throw fail('invalid_argument', { field: 'memoryMb', reason: `must be at least ${leastMemoryMb}` })
  if (!(spec.cpus > 0)) throw fail('invalid_argument', { field: 'cpus', reason: 'must be more than 0' })
  if (!/^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$/.test(spec.hostname))
    throw fail('invalid_argument', { field: 'hostname', reason: 'must be a host name of at most 64 characters' })
}

const markerOf = (context: Context, spec: MachineSpec, slot: Slot): Marker => ({
  slot: slot.index,
  address: slot.address,
  gateway: slot.gateway,
  port: context.bundle.port,
  memoryMb: spec.memoryMb,
  cpus: spec.cpus,
  ready: false,
})

const writeConfig = async (context: Context, spec: MachineSpec, slot: Slot, files: MachineFiles): Promise<void> => {
  const { bundleDir, bundle, names, pidsLimit, hierarchy, privileges } = context
  const config = runtimeConfig({
    spec,
    rootDir: files.root,
    bundleDir,
    command: bundle.command,
    env: { HUTCH_GATEWAY: slot.gateway },
    netns: slot.netns,
    cgroup: groupOf(names, spec.id),
    pidsLimit,
    limitsSwap: hierarchy.limitsSwap,
    privileges,
    arch: process.arch,
  })
  await writeFile(files.config, JSON.stringify(config), { mode: 0o600 })
}

const boot = async (context: Context, spec: MachineSpec, marker: Marker, signal?: AbortSignal): Promise<void> => {
  const { dataDir, runtime, overlay, hierarchy, names, clock } = context
  const files = filesOf(dataDir, spec.id)
  await startMachine({
    id: spec.id,
    files,
    runtime,
    overlay: overlay ? overlayOptions(spec.rootfs, files) : undefined,
    signal,
  })
  // Its work is done and its number may soon be somebody else's.
  await rm(files.starter, { force: true })
  const group = groupOf(names, spec.id)
  await untilReady(
    {
      host: marker.address,
      port: marker.port,
      hasEnded: async () => (await processesIn(hierarchy, group)).length === 0,
      lastWords: () => lastWords(files),
      signal,
    },
    clock,
  )
  await limitCpu(hierarchy, group, spec.id, spec.cpus)
  await writeMarker(files.marker, { ...marker, ready: true })
}

/** The machine, running; one that runs already is returned as it is, one half-made or stopped is made anew. */
export const createMachine = async (context: Context, spec: MachineSpec, signal?: AbortSignal): Promise<Machine> => {
  check(spec)
  const { dataDir, slots, resolvers, overlay, log } = context
  const files = filesOf(dataDir, spec.id)
  const before = await lookAt(context, spec.id)
  if (before.phase === 'running' || before.phase === 'frozen') return before
  await removeMachine(context, spec.id, signal)
  const slot = await slots.take(signal)
  const marker = markerOf(context, spec, slot)
  try {
    await mkdir(files.dir, { mode: 0o700 })
    await writeMarker(files.marker, marker)
  } catch (error) {
    await slots.drop(slot.index)
    throw error
  }
  try {
    const { rootfs: image, hostname } = spec
    await prepareRoot({ files, image, hostname, address: slot.address, resolvers, overlay, signal })
    await writeConfig(context, spec, slot, files)
    await context.starting(() => boot(context, spec, marker, signal))
  } catch (error) {
    // Nothing is left of a failure; what cannot be removed now is listed as half-made.
    await removeMachine(context, spec.id).catch(also => log.warn('machine.left', { machine: spec.id, error: also }))
    throw error
  }
  return { id: spec.id, phase: 'running', address: { host: marker.address, port: marker.port } }
}
