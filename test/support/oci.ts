/** A real oci driver over a data directory of its own, and what it may leave on the box. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Driver, Machine, MachineSpec } from '../../control/drivers/driver.ts'
import type { DriverConfig } from '../../control/drivers/index.ts'
import { openHierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { limitCpu, limitingMemory } from '../../control/drivers/oci/cgroup/limits.ts'
import { groupOf } from '../../control/drivers/oci/context.ts'
import { openOci } from '../../control/drivers/oci/index.ts'
import { namesOf, tagOf, type Names } from '../../control/drivers/oci/names.ts'
import { runtimeNames } from '../../control/drivers/oci/runtime.ts'
import { systemClock } from '../../shared/clock.ts'
import { silentLog, type Log } from '../../shared/log.ts'
import { makeBundle, makeRootfs } from './machine.ts'
import { ownDisk } from './small-disk.ts'

/** Of a machine of these tests, unless they say otherwise. */
const usual = { memoryMb: 256, cpus: 1 }

export interface Kit {
  readonly rootfs: string
  readonly bundleDir: string
}

/** Made once for a test file; Node is a large file to copy. */
export const makeKit = (dir: string): Kit => ({
  rootfs: makeRootfs(join(dir, 'rootfs')),
  bundleDir: makeBundle(join(dir, 'bundle')),
})

const namesIn = (directory: string): string[] => {
  try {
    return readdirSync(directory)
  } catch {
    // Not there: nothing is in it.
    return []
  }
}

export const cgroupMounts = (): string[] =>
  [...readFileSync('/proc/self/mountinfo', 'utf8').matchAll(/^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2? /gm)].map(
    match => match[1] as string,
  )

/** Everything on the box whose name carries the instance's tag. */
export const traces = ({ tag, cgroup, chain }: Names): string[] => [
  ...namesIn('/sys/class/net')
    .filter(name => name.includes(tag))
    .map(name => `interface ${name}`),
  ...namesIn('/run/netns')
    .filter(name => name.includes(tag))
    .map(name => `namespace ${name}`),
  ...cgroupMounts()
    .filter(mount => namesIn(mount).includes(cgroup))
    .map(mount => `cgroup ${mount}/${cgroup}`),
  ...execFileSync('iptables-save', { encoding: 'utf8' })
    .split('\n')
    .filter(line => line.includes(chain)),
  ...execFileSync('ip', ['-4', '-o', 'addr', 'show', 'dev', 'lo'], { encoding: 'utf8' })
    .split('\n')
    .filter(line => line.includes(tag)),
  ...namesIn('/run/hutch').filter(name => name === tag),
  ...['/run/hutch/blocks', '/run/hutch/ids'].flatMap(directory =>
    namesIn(directory).filter(name => readFileSync(join(directory, name), 'utf8').includes(tag)),
  ),
]

/** Files with that word in their path that are on loop devices. */
export const loopsOf = (word: string): string[] =>
  namesIn('/sys/block')
    .map(name => join('/sys/block', name, 'loop/backing_file'))
    .flatMap(file => {
      try {
        return [readFileSync(file, 'utf8').trimEnd()]
      } catch {
        // No loop device, or one without a file.
        return []
      }
    })
    .filter(path => path.includes(word))

/** The kernel lets go of a disk a moment after the last process of its machine. */
export const loopsLeft = async (word: string): Promise<string[]> => {
  for (let left = 200; left > 0 && loopsOf(word).length > 0; left--) await setTimeout(50)
  return loopsOf(word)
}

type Settings = Pick<
  DriverConfig,
  'slotsAhead' | 'pidsLimit' | 'allowNetworks' | 'userNamespaces' | 'diskQuota' | 'diskReserveMb'
>

export interface Box extends Kit {
  readonly driver: Driver
  readonly dataDir: string
  readonly names: Names
  reopen(settings?: Settings): Promise<Driver>
  spec(id: string, more?: Partial<MachineSpec>): MachineSpec
  leftovers(id: string): Promise<string[]>
  /** Other limits of a machine that runs, as one that is claimed gets them. */
  limit(id: string, limits: Pick<MachineSpec, 'memoryMb' | 'cpus'>): Promise<void>
}

export interface BoxOptions {
  readonly runtime?: string
  readonly hostPorts?: readonly number[]
  readonly settings?: Settings
  readonly log?: Log
  /** Where its directory is made; that of temporary files unless given. */
  readonly within?: string
}

/** Opens a driver; at the end of the test all machines are removed and nothing of the instance may be left. */
export const openBox = async (t: Test, kit: Kit, options: BoxOptions = {}): Promise<Box> => {
  const { runtime = 'auto', hostPorts = [], settings = { slotsAhead: 2 }, log = silentLog, within = tmpdir() } = options
  // Not t.testdir(): that one goes before the teardown that removes the machines in it.
  const dir = realpathSync(mkdtempSync(join(within, 'hutch box-')))
  const dataDir = join(dir, 'data')
  mkdirSync(dataDir)
  const names = namesOf(tagOf(dataDir))
  const config = { dataDir, driver: 'oci', runtime, subnet: '10.89.0.0/16', bundleDir: kit.bundleDir }
  const opened: Driver[] = []
  const reopen = async (again = settings) => {
    const driver = await openOci({ ...config, ...again }, { log, clock: systemClock(), hostPorts })
    opened.push(driver)
    return driver
  }
  t.teardown(async () => {
    const last = opened.at(-1)
    for (const { id } of (await last?.list()) ?? []) await last?.remove(id)
    for (const driver of opened) await driver.close()
    rmSync(dir, { recursive: true, force: true })
    const left = [...traces(names), ...(await loopsLeft(dir))]
    if (left.length > 0) throw new Error(`left on the box: ${left.join('; ')}`)
  })
  return {
    ...kit,
    driver: await reopen(),
    dataDir,
    names,
    reopen,
    async limit(id, { memoryMb, cpus }) {
      const hierarchy = await openHierarchy()
      const group = groupOf(names, id)
      for (const [file, value] of limitingMemory(hierarchy, group, usual.memoryMb, memoryMb)) writeFileSync(file, value)
      await limitCpu(hierarchy, group, id, cpus)
    },
    spec: (id, more) => ({
      id,
      rootfs: kit.rootfs,
      ...usual,
      storageMb: 64,
      hostname: 'box',
      env: {},
      workdir: '/',
      ...more,
    }),
    leftovers: async id => [
      ...namesIn(join(dataDir, 'machines')).filter(name => name === id),
      ...runtimeNames.flatMap(one => namesIn(join(names.runDir, one))).filter(name => name === id),
      ...cgroupMounts().filter(mount => namesIn(join(mount, names.cgroup)).includes(id)),
      ...readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter(line => line.includes(id)),
      ...(await loopsLeft(id)),
    ],
  }
}

/** What the conformance suite of quotas wants. */
export const filling = (t: Test, kit: Kit, options: BoxOptions = {}) => ({
  async fill(machine: Machine) {
    const size = async () => Number((await sh(machine, 'touch /fill; busybox stat -c %s /fill')).out) / 1024 ** 2
    const before = await size()
    // To its last byte, and beyond: files in pieces take a block of the file system's own when they reach the disk, which is full then.
    const pieces =
      'for at in 0 2 4 6 8 10; do dd if=/dev/zero of=/pieces.$file bs=4k count=1 seek=$at conv=notrunc; done'
    const fill = 'for size in 64k 1k; do dd if=/dev/zero bs=$size >> /fill; done'
    const { out: said } = await sh(
      machine,
      `busybox rm -f /pieces.*; for file in 1 2 3 4; do ${pieces}; done; ${fill}; sync`,
    )
    return { said, mb: (await size()) - before }
  },
  async litter(machine: Machine) {
    const { out } = await sh(machine, 'mkdir /litter; at=0; while true > /litter/$at; do at=$((at+1)); done')
    return out
  },
  async empty(machine: Machine) {
    await sh(machine, 'busybox rm -rf /fill /pieces.* /litter')
  },
  async withRoom(mb: number) {
    const within = ownDisk(t, 512)
    const { bavail, bsize } = statfsSync(within)
    const diskReserveMb = Math.floor((bavail * bsize) / 1024 ** 2) - mb
    const { driver } = await openBox(t, kit, { ...options, within, settings: { slotsAhead: 1, diskReserveMb } })
    return driver
  },
})

/** Runs a shell line in the machine, by the test bundle's daemon. */
export const sh = async (machine: Machine, line: string): Promise<{ code: number; out: string }> => {
  const { host, port } = machine.address as { host: string; port: number }
  const response = await fetch(`http://${host}:${port}/sh`, {
    method: 'POST',
    body: line,
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(90_000),
  })
  return (await response.json()) as { code: number; out: string }
}
