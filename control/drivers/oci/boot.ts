/** From prepared files to a daemon that answers. */
import { rmSync } from 'node:fs'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { BootDocument } from '../../../shared/wire/host.ts'
import type { MachineSpec } from '../driver.ts'
import { limitCpu, limitSockets } from './cgroup/limits.ts'
import { isGeneric } from './claim/generic.ts'
import { isPopulated } from './cgroup/processes.ts'
import { groupOf, type Context } from './context.ts'
import { isFile } from './disk/kind.ts'
import { blocksOf } from './disk/shape.ts'
import type { MachineFiles } from './layout.ts'
import { writeMarkerNow, type Marker } from './marker.ts'
import type { Slot } from './net/link.ts'
import { untilReady } from './ready.ts'
import { inTurn } from './in-turn.ts'
import { inheritedFiles, runtimeConfig } from './spec/config.ts'
import { releasesMount } from './spec/mounts.ts'
import { handsOnDescriptors, hiddenFrom, treesAnew } from './runtime.ts'
import { shownVolumes } from './volumes/files.ts'
import { lastWords, privateFd, saidSince, saidSoFar, startMachine } from './start.ts'

/** One attempt to make a machine. */
export interface Attempt {
  readonly context: Context
  readonly spec: MachineSpec
  readonly slot: Slot
  readonly files: MachineFiles
  /** What the daemon is told; undefined where it has no channel. */
  readonly document: BootDocument | undefined
  readonly signal: AbortSignal | undefined
  /** Told when its daemon takes long, and nothing else is left to be done. */
  readonly onRising: (() => void) | undefined
}

/** What the runtime reads; `firstId` is the id of the box that root inside is, if there is one for it. */
const configOf = ({ context, spec, slot, document }: Attempt, firstId: number | undefined): object => {
  const { bundle, releasesDir, names, pidsLimit, hierarchy, privileges, aio, runtime } = context
  return runtimeConfig({
    spec,
    command: spec.daemonPort === undefined ? bundle.command : [...bundle.command, '-port', String(spec.daemonPort)],
    releases: releasesDir !== undefined,
    env: {
      HUTCH_GATEWAY: slot.gateway,
      HUTCH_RELEASES_DIR: releasesDir === undefined ? '' : releasesMount,
      HUTCH_PRIVATE_FD: handsOnDescriptors(runtime) ? String(privateFd) : '',
    },
    boots: document !== undefined,
    netns: slot.netns,
    firstId,
    cgroup: groupOf(names, spec.id),
    pidsLimit,
    limitsSwap: hierarchy.limitsSwap,
    privileges,
    aio,
    treesAnew: treesAnew(runtime, hierarchy),
    ownTmp: runtime.name === 'runsc',
    arch: process.arch,
  })
}

/** What a disk of its own is made of when it is new, and the host's files for /etc. */
interface Contents {
  readonly blank: string | undefined
  readonly etc: Readonly<Record<string, string>>
}

const start = (attempt: Attempt, { firstId, disk }: Marker, { blank, etc }: Contents): Promise<void> => {
  const { context, spec, slot, files, document, signal } = attempt
  const { runtime, overlay, bundleDir, releasesDir, privileges, hierarchy } = context
  const onDisk = isFile(disk)
  return startMachine({
    id: spec.id,
    files,
    runtime,
    usersOf: firstId === undefined ? undefined : join('/run/netns', slot.netns),
    openFiles: inheritedFiles(privileges, firstId),
    image: overlay ? spec.rootfs : undefined,
    generic: isGeneric(context, spec.rootfs),
    disk: onDisk ? { blocks: blocksOf(disk), blank } : undefined,
    told: {
      config: configOf(attempt, firstId),
      ...(document ? { input: document } : {}),
      // Elsewhere they are in its directory.
      ...(onDisk ? { etc } : {}),
      volumes: shownVolumes(context.dataDir, spec),
    },
    bundleDir,
    releasesDir,
    privatePlace: handsOnDescriptors(runtime),
    hidden: hiddenFrom(runtime, hierarchy),
    store: spec.nests ?? false,
    signal,
  })
}

/** What a daemon's log says when its sockets listen. */
const listening = '"daemon.listening"'

/** Resolves when the daemon is up and the machine is limited to its share; its marker says so then. */
const untilUp = async (
  { context, spec, files, document, signal }: Attempt,
  marker: Marker,
  from: number,
): Promise<void> => {
  const { hierarchy, names, clock } = context
  const group = groupOf(names, spec.id)
  await untilReady(
    {
      host: marker.address,
      port: marker.port,
      output: files.output,
      hasSaid: () => saidSince(files, from).includes(listening),
      hasEnded: async () => !(await isPopulated(hierarchy, group)),
      lastWords: () => lastWords(files, from),
      signal,
    },
    clock,
  )
  // Its start may have needed more than it has.
  if (marker.disk && !isFile(marker.disk)) context.disks.of(marker.disk).bound(files, marker.disk)
  limitSockets(hierarchy, group, spec.memoryMb)
  // Nobody's machine gets its share when it is somebody's, and does not wait then for a disk to forget what it has said until now.
  if (spec.anonymous) await truncate(files.output)
  else {
    await limitCpu(hierarchy, group, spec.id, spec.cpus)
    // Its daemon may have looked at what it had until now.
    await context.views?.renew(spec.id)
  }
  const sealed = document?.machine.seal !== undefined
  writeMarkerNow(files.marker, { ...marker, ready: true, kept: true, sealed: marker.sealed || sealed })
}

/** Resolves when the machine is up. */
export const boot = async (attempt: Attempt, marker: Marker, contents: Contents): Promise<void> => {
  const { context, files } = attempt
  // What an earlier life has said stands before.
  const from = saidSoFar(files)
  const begin = async () => {
    await context.quickMoves.during(() => start(attempt, marker, contents))
    // Its work is done and its number may soon be somebody else's.
    rmSync(files.starter, { force: true })
  }
  const up = async () => {
    // While the daemon begins; nothing of a tenant runs yet.
    await Promise.all([untilUp(attempt, marker, from), context.views?.show(attempt.spec.id)])
  }
  await inTurn(context, { begin, up, onRising: attempt.onRising })
}
