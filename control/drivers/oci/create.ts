/** Makes one machine. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fail } from '../../../shared/errors.ts'
import type { BootDocument } from '../../../shared/wire/host.ts'
import type { Machine, MachineSpec } from '../driver.ts'
import { bootDocumentOf, openDocument } from './boot-document.ts'
import { limitCpu } from './cgroup/limits.ts'
import { isPopulated } from './cgroup/processes.ts'
import { groupOf, type Context } from './context.ts'
import { filesOf, type MachineFiles } from './layout.ts'
import { readMarker, writeMarker, type Marker } from './marker.ts'
import type { Slot } from './net/link.ts'
import { addressOf, lookAt } from './phase.ts'
import { untilReady } from './ready.ts'
import { endMachine, removeMachine } from './remove.ts'
import { prepareAgain, prepareRoot } from './rootfs.ts'
import { runtimeConfig } from './spec/config.ts'
import { releasesMount } from './spec/mounts.ts'
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

/** A machine that is about to start. */
interface Starting {
  readonly spec: MachineSpec
  readonly slot: Slot
  readonly files: MachineFiles
  readonly boot: BootDocument | undefined
}

const markerOf = (context: Context, { spec, slot, boot }: Starting, kept: boolean): Marker => ({
  slot: slot.index,
  address: slot.address,
  gateway: slot.gateway,
  port: context.bundle.port,
  ...(boot && spec.channel ? { channel: { port: boot.channel.port, generation: spec.channel.generation } } : {}),
  memoryMb: spec.memoryMb,
  cpus: spec.cpus,
  ready: false,
  kept,
})

const writeConfig = async (context: Context, { spec, slot, boot, files }: Starting): Promise<void> => {
  const { bundleDir, bundle, releasesDir, names, pidsLimit, hierarchy, privileges } = context
  const config = runtimeConfig({
    spec,
    rootDir: files.root,
    bundleDir,
    command: bundle.command,
    releasesDir,
    env: { HUTCH_GATEWAY: slot.gateway, HUTCH_RELEASES_DIR: releasesDir === undefined ? '' : releasesMount },
    boots: boot !== undefined,
    netns: slot.netns,
    cgroup: groupOf(names, spec.id),
    pidsLimit,
    limitsSwap: hierarchy.limitsSwap,
    privileges,
    arch: process.arch,
  })
  await writeFile(files.config, JSON.stringify(config), { mode: 0o600 })
}

const start = async (context: Context, starting: Starting, marker: Marker, signal?: AbortSignal): Promise<void> => {
  const { runtime, overlay, hierarchy, names, clock } = context
  const { spec, files, boot } = starting
  const input = boot && openDocument(boot, names.runDir)
  try {
    const overlayed = overlay ? overlayOptions(spec.rootfs, files) : undefined
    await startMachine({ id: spec.id, files, runtime, overlay: overlayed, input: input?.path, signal })
  } finally {
    input?.close()
  }
  // Its work is done and its number may soon be somebody else's.
  await rm(files.starter, { force: true })
  const group = groupOf(names, spec.id)
  await untilReady(
    {
      host: marker.address,
      port: marker.port,
      hasEnded: async () => !(await isPopulated(hierarchy, group)),
      lastWords: () => lastWords(files),
      signal,
    },
    clock,
  )
  await limitCpu(hierarchy, group, spec.id, spec.cpus)
  await writeMarker(files.marker, { ...marker, ready: true, kept: true })
}

/** Files of an earlier life are used again; a whole copy cannot tell the tenant's from the image's. */
const hasFiles = async ({ overlay }: Context, files: MachineFiles): Promise<boolean> =>
  overlay && ((await readMarker(files.marker))?.kept ?? false)

/**
 * The machine, running; one that runs already is returned as it is, one half-made is made anew, one that has ended (its
 * first process did, or the box was restarted) is started again with the files it had.
 */
export const createMachine = async (context: Context, spec: MachineSpec, signal?: AbortSignal): Promise<Machine> => {
  check(spec)
  const { dataDir, slots, resolvers, overlay, log } = context
  const files = filesOf(dataDir, spec.id)
  const before = await lookAt(context, spec.id)
  if (before.phase === 'running' || before.phase === 'frozen') return before
  const kept = await hasFiles(context, files)
  const clear = kept ? endMachine : removeMachine
  await clear(context, spec.id, signal)
  const slot = await slots.take(signal)
  const starting = { spec, slot, files, boot: bootDocumentOf(spec, context.bundle, slot) }
  const marker = markerOf(context, starting, kept)
  try {
    await mkdir(files.dir, { mode: 0o700, recursive: kept })
    await writeMarker(files.marker, marker)
  } catch (error) {
    await slots.drop(slot.index)
    throw error
  }
  try {
    const { rootfs: image, hostname } = spec
    const root = { files, image, hostname, address: slot.address, resolvers, overlay, signal }
    await (kept ? prepareAgain(root) : prepareRoot(root))
    await writeConfig(context, starting)
    await context.starting(() => start(context, starting, marker, signal))
  } catch (error) {
    // Nothing runs after a failure; what cannot be removed now is listed as half-made.
    await clear(context, spec.id).catch(also => log.warn('machine.left', { machine: spec.id, error: also }))
    throw error
  }
  return { id: spec.id, phase: 'running', address: addressOf(spec.id, marker) }
}
