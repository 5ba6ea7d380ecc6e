/** Memory and processor limits of a machine. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errno, fail } from '../../../../shared/errors.ts'
import { readControl, type Hierarchy, type Setting } from './hierarchy.ts'
import { weighIo } from './io-weight.ts'

/** Scheduler period in µs; a machine may use `cpus` periods' worth of it. */
const periodUs = 100_000
export const quotaUs = (cpus: number): number => Math.max(1_000, Math.round(cpus * periodUs))
/** Weighs as much as so many processors. */
const hurriedCpus = 4
/** Weight between machines when all want the processor: 1024 per core. */
export const sharesOf = (cpus: number): number => Math.max(2, Math.round(cpus * 1024))
/** The kernel's own mapping of 2…262144 shares to 1…10000 weights. */
const weightOf = (cpus: number): number => 1 + Math.floor(((sharesOf(cpus) - 2) * 9_999) / 262_142)

/**
 * Processors a machine may run on, so that `nproc` inside says what it has paid for: as many as its share rounded up,
 * at a place in the ring that its id decides.
 */
export const cpuSet = ({ processors: all }: Pick<Hierarchy, 'processors'>, id: string, cpus: number): string => {
  const count = Math.min(all, Math.max(1, Math.ceil(cpus)))
  if (count === all) return `0-${all - 1}`
  const start = [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 65_521, 7) % all
  return Array.from({ length: count }, (_, step) => (start + step) % all)
    .toSorted((a, b) => a - b)
    .join(',')
}

/** The kernel notes it at once. */
const set = (file: string, value: string | number): void => {
  try {
    writeFileSync(file, String(value))
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENODEV')
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'limits',
        reason: `${file} does not exist; is the machine running?`,
      })
    if (errno(error) === 'EBUSY' || errno(error) === 'EINVAL')
      throw fail('busy', {
        what: `the kernel refuses ${value} in ${file} now`,
        next: 'the machine uses more memory than that; free some inside and try again',
      })
    throw error
  }
}

const file = (hierarchy: Hierarchy, controller: string, path: string, name: string): string =>
  join(hierarchy.mountOf(controller) ?? '/sys/fs/cgroup', path, name)

const weighing = (hierarchy: Hierarchy, path: string, cpus: number): Setting => {
  const [name, weight] = hierarchy.version === 2 ? ['cpu.weight', weightOf(cpus)] : ['cpu.shares', sharesOf(cpus)]
  return [file(hierarchy, 'cpu', path, name), String(weight)]
}

/** Weighs as much as so many processors when all want them. */
export const weighCpu = (hierarchy: Hierarchy, path: string, cpus: number): void =>
  set(...weighing(hierarchy, path, cpus))

/** Lets the machine use its share and no more. */
export const boundCpu = async (hierarchy: Hierarchy, path: string, id: string, cpus: number): Promise<void> => {
  if (hierarchy.version === 2) set(file(hierarchy, 'cpu', path, 'cpu.max'), `${quotaUs(cpus)} ${periodUs}`)
  else set(file(hierarchy, 'cpu', path, 'cpu.cfs_quota_us'), quotaUs(cpus))
  // Where the controller is not handed down, nproc inside shows every processor; the quota holds all the same.
  const processors = file(hierarchy, 'cpuset', path, 'cpuset.cpus')
  if ((await readControl(processors)) !== undefined) set(processors, cpuSet(hierarchy, id, cpus))
  await weighIo(hierarchy, path, cpus)
}

/** Gives the machine its share, of weight and of time; until then it starts as fast as the box allows. */
export const limitCpu = async (hierarchy: Hierarchy, path: string, id: string, cpus: number): Promise<void> => {
  weighCpu(hierarchy, path, cpus)
  await boundCpu(hierarchy, path, id, cpus)
}

/** Somebody waits for it: before machines that nobody waits for, until `weighCpu`. */
export const hurrying = (hierarchy: Hierarchy, path: string): Setting => weighing(hierarchy, path, hurriedCpus)

const mb = 1024 * 1024

/** Bytes that the sockets of a machine may hold, sent and not yet read. */
export const socketBytes = (memoryMb: number): number => Math.min(256, Math.max(16, memoryMb / 8)) * mb

/**
 * Version 1 counts what sockets hold only where it is limited; without, one machine takes all that the box has for the
 * buffers of all (`net.ipv4.tcp_mem`). Version 2 counts it as the machine's memory.
 */
const limitingSockets = (hierarchy: Hierarchy, path: string, memoryMb: number): readonly Setting[] => {
  if (!hierarchy.limitsSockets) return []
  const limit = file(hierarchy, 'memory', path, 'memory.kmem.tcp.limit_in_bytes')
  return [[limit, String(Math.round(socketBytes(memoryMb)))]]
}

export const limitSockets = (hierarchy: Hierarchy, path: string, memoryMb: number): void => {
  for (const setting of limitingSockets(hierarchy, path, memoryMb)) set(...setting)
}

/** Limits one that has `from` to `to`, of bytes. */
const limitingBytes = (hierarchy: Hierarchy, path: string, { from, to }: { from: number; to: number }): Setting[] => {
  const limit = (name: string): Setting => [file(hierarchy, 'memory', path, name), String(to)]
  if (hierarchy.version === 2) return [limit('memory.max')]
  const plain = limit('memory.limit_in_bytes')
  if (!hierarchy.limitsSwap) return [plain]
  const withSwap = limit('memory.memsw.limit_in_bytes')
  // The one may never exceed the other, so which goes first depends on the direction.
  return to > from ? [withSwap, plain] : [plain, withSwap]
}

const bytesOf = (memoryMb: number): number => Math.round(memoryMb * mb)

/** Limits memory and swap together, and sockets to a part, of a machine that is limited to `fromMb` and uses less than `toMb`. */
export const limitingMemory = (
  hierarchy: Hierarchy,
  path: string,
  fromMb: number,
  toMb: number,
): readonly Setting[] => [
  ...limitingBytes(hierarchy, path, { from: bytesOf(fromMb), to: bytesOf(toMb) }),
  ...limitingSockets(hierarchy, path, toMb),
]
