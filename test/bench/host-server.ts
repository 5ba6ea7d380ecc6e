/** The real server over real machines, as the host's benchmarks use it. */
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { openHierarchy, type Hierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { readMarker } from '../../control/drivers/oci/marker.ts'
import { filesOf } from '../../control/drivers/oci/layout.ts'
import { readName, treePath } from '../../control/core/images/layout.ts'
import { server } from '../support/server.ts'
import { cpuOf, memoryOf } from './child.ts'
import type { Bench } from './measure.ts'

export interface MeasuredHost {
  readonly dataDir: string
  readonly url: string
  readonly key: string
  /** Asks for a sandbox, of the small image unless another is named. Rejects with what was said when there is none. */
  create(name: string, memoryMb?: number, from?: string, storageMb?: number): Promise<void>
  /** Runs a command through the gateway and waits for it. */
  exec(name: string, command: string): Promise<void>
  /** Begins a command and does not wait for it. */
  begin(name: string, command: string): Promise<void>
  /** A GET of the sandbox's daemon through the gateway. */
  get(name: string, path: string): Promise<Buffer>
  /** Removes sandboxes and waits until they are gone. */
  remove(names: readonly string[]): Promise<void>
  /** Waits until the sandbox sleeps. */
  asleep(name: string): Promise<void>
  /** Where daemons listen, by machine. */
  addresses(): Promise<string[]>
  /** Proportional memory of all processes in machines of this instance, in bytes, and how many they are. */
  memory(): { bytes: number; processes: number }
  /** What the server itself holds, what of that is no file, and processor time that it has used. */
  server(): { bytes: number; own: number; cpuMs: number }
  /** Bytes that the kernel charges all machines of this instance for, but for pages of files. */
  charged(): number
}

/** Where `make run` has Node keep what it has compiled. */
const compiled = new URL('../../.runtime/compiled', import.meta.url).pathname

/** Image of all sandboxes here: what is measured is not how large an image is. */
export const image = 'busybox'

const imagesDir = new URL('../../.runtime/images', import.meta.url).pathname

/** Its root file system, for who runs it by other means. */
export const imageRoot = async (): Promise<string> => {
  const digest = await readName(imagesDir, image)
  if (!digest) throw new Error(`no image "${image}" in ${imagesDir}: run make images`)
  return `${treePath(imagesDir, digest)}/rootfs`
}

/** Processes in the control groups of the instance; a command line would find those of others, too. */
const processesOf = (cgroup: string): number[] =>
  readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`/${cgroup}/`)
      } catch {
        // It ended meanwhile.
        return false
      }
    })
    .map(Number)

const chargedFor = (hierarchy: Hierarchy, group: string): number => {
  const directory = join(hierarchy.mountOf('memory') ?? '', group)
  const stat = readFileSync(join(directory, 'memory.stat'), 'utf8')
  const [prefix, all] = hierarchy.version === 2 ? ['', 'memory.current'] : ['total_', 'memory.usage_in_bytes']
  const of = (name: string) => Number(new RegExp(`^${prefix}${name} (\\d+)`, 'm').exec(stat)?.[1])
  return Number(readFileSync(join(directory, all), 'utf8')) - of('active_file') - of('inactive_file')
}

export const measuredHost = async (bench: Bench, env: Record<string, string> = {}): Promise<MeasuredHost> => {
  const running = await server(
    { teardown: undo => bench.later('server', undo) },
    { NODE_COMPILE_CACHE: compiled, ...env },
  )
  const { dataDir, names, url, key } = running
  const hierarchy = await openHierarchy()
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  bench.later('agent', () => agent.destroy())
  const headers = { authorization: `Bearer ${key}`, 'svc-version': '2026-04-28', 'content-type': 'application/json' }
  const ask = async (method: string, path: string, body?: object): Promise<Buffer> => {
    const asked = request(`${url}${path}`, { method, agent, headers })
    asked.end(body === undefined ? undefined : JSON.stringify(body))
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const bytes = await buffer(answer)
    if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${answer.statusCode} ${bytes}`)
    return bytes
  }
  return {
    dataDir,
    url,
    key,
    async create(name, memory = 256, from = image, storageMb = memory / 2) {
      await ask('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime: { image: from, memory, storageMb } } })
    },
    async exec(name, command) {
      await ask('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })
    },
    async begin(name, command) {
      await ask('POST', `/default/sandboxes/${name}/process`, { command })
    },
    get: (name, path) => ask('GET', `/default/sandboxes/${name}${path}`),
    async remove(gone) {
      await Promise.all(gone.map(name => ask('DELETE', `/v0/sandboxes/${name}`)))
      for (const name of gone)
        await running.until(name, (body, status) => status === 404 || body.status === 'TERMINATED')
    },
    async asleep(name) {
      await running.until(name, body => body.state === 'STANDBY')
    },
    async addresses() {
      const ids = readdirSync(join(dataDir, 'machines'))
      const markers = await Promise.all(ids.map(id => readMarker(filesOf(dataDir, id).marker)))
      return markers.flatMap(marker => (marker?.ready ? [`http://${marker.address}:${marker.port}`] : []))
    },
    server() {
      const status = readFileSync(`/proc/${running.pid()}/status`, 'utf8')
      const bytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024
      return { bytes: bytes('VmRSS'), own: bytes('RssAnon'), cpuMs: cpuOf(Number(running.pid())) }
    },
    charged: () => chargedFor(hierarchy, names.cgroup),
    memory() {
      const pids = processesOf(names.cgroup)
      return { bytes: pids.reduce((sum, pid) => sum + memoryOf(pid), 0), processes: pids.length }
    },
  }
}
