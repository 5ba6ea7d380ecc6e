/** What can happen to a box, done to a scratch server, and how long until its sandboxes answered again. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { openHierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { sweepInstance } from '../../control/drivers/oci/sweep.ts'
import { systemClock } from '../../shared/clock.ts'
import { runCommand } from '../support/command.ts'
import { faultyServer } from '../support/faulty-server.ts'
import { server, type Server, type Teardowns } from '../support/server.ts'
import { until } from '../support/until.ts'
import { clear, fill, names, recovered, type Left, type Stored } from './box.ts'

export interface Outcome extends Left {
  /** From the end of the disaster, or its repair, until every sandbox answered, ms. */
  readonly recoveredMs: number
  readonly lostBytes: number
}

export interface Disaster {
  readonly name: string
  run(t: Teardowns): Promise<Outcome>
}

const env = { HUTCH_STANDBY_SECONDS: '1' }

/** Strikes, and waits for everything to be as it was. */
const after = async (s: Server, stored: readonly Stored[], strike: () => Promise<unknown>): Promise<Outcome> => {
  await strike()
  const begun = performance.now()
  if (!(await isUp(s))) await s.start()
  const lostBytes = await recovered(s, stored)
  return { recoveredMs: Math.round(performance.now() - begun), lostBytes, ...(await clear(s)) }
}

const isUp = (s: Server): Promise<boolean> =>
  fetch(new URL('/healthz', s.url)).then(
    () => true,
    () => false,
  )

const health = async (s: Server): Promise<string> =>
  ((await (await fetch(new URL('/healthz', s.url))).json()) as { status: string }).status

const simple = (name: string, strike: (s: Server) => Promise<unknown>): Disaster => ({
  name,
  async run(t) {
    const s = await server(t, env)
    const stored = await fill(s)
    return after(s, stored, () => strike(s))
  },
})

const processesOf = (s: Server): number[] =>
  readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(s.names.cgroup)
      } catch {
        // It ended meanwhile.
        return false
      }
    })
    .map(Number)

const killAll = (pids: readonly number[]): void => {
  for (const pid of pids)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended with another one.
    }
}

const restartOfTheBox = async (s: Server): Promise<void> => {
  await s.kill()
  await sweepInstance(await openHierarchy(), s.names, systemClock())
}

/** A file system of its own under a data directory: ext4 on a loop device, which becomes read-only at an error. */
const ownDisk = (t: Teardowns, dataDir: string, megabytes: number) => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-drill-'))
  const image = join(dir, 'disk')
  writeFileSync(image, '')
  truncateSync(image, megabytes * 1024 * 1024)
  execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image])
  const mount = () => execFileSync('mount', ['-o', 'loop,errors=remount-ro', image, dataDir])
  mount()
  t.teardown(() => {
    // Not mounted when its repair failed, which says why itself.
    spawnSync('umount', ['-l', dataDir], { stdio: 'ignore' })
    rmSync(dir, { recursive: true, force: true })
  })
  return {
    device: () => basename(execFileSync('findmnt', ['-no', 'SOURCE', dataDir], { encoding: 'utf8' }).trim()),
    repair() {
      execFileSync('umount', [dataDir])
      // 1 is that it has mended something.
      const { status } = spawnSync('fsck.ext4', ['-y', '-f', image], { stdio: 'ignore' })
      if (status !== 0 && status !== 1) throw new Error(`fsck.ext4 ended with ${status}`)
      mount()
    },
  }
}

const onOwnDisk = async (t: Teardowns, megabytes: number) => {
  let disk: ReturnType<typeof ownDisk> | undefined
  const s = await server(t, env, [], async ({ dataDir }) => {
    disk = ownDisk(t, dataDir, megabytes)
  })
  return { s, disk: disk as ReturnType<typeof ownDisk> }
}

/** What writes is refused in words while nothing can be written. */
const needTyped = async (s: Server): Promise<void> => {
  const [name] = names
  const runtime = { image: 'busybox' }
  const asked = [
    ['POST', '/v0/sandboxes', { metadata: { name: 'more' }, spec: { runtime } }],
    ['PUT', `/v0/sandboxes/${name}`, { metadata: {}, spec: { runtime: { memory: 512 } } }],
    ['POST', `/v0/sandboxes/${name}/restart`],
    ['DELETE', `/v0/sandboxes/${name}`],
  ] as const
  for (const [method, path, body] of asked) {
    const said = await s.call(method, path, body)
    if (said.status !== 503 || said.body?.error === undefined)
      throw new Error(`${method} ${path} is ${said.status} ${said.text}`)
  }
}

const fullDisk: Disaster = {
  name: 'the disk is full, then has room',
  async run(t) {
    const { s } = await onOwnDisk(t, 512)
    const stored = await fill(s)
    return after(s, stored, async () => {
      const filler = join(s.dataDir, 'filler')
      // Until it is full, which dd says with an exit code of its own.
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'], { stdio: 'ignore' })
      await until(async () => (await health(s)) === 'failing', 'health to say so')
      await needTyped(s)
      rmSync(filler)
      await until(async () => (await health(s)) === 'ok', 'health to say that it has room')
    })
  },
}

const readOnlyDisk: Disaster = {
  name: 'the disk fails and is read-only; it is repaired and mounted again',
  async run(t) {
    const { s, disk } = await onOwnDisk(t, 512)
    const stored = await fill(s)
    return after(s, stored, async () => {
      writeFileSync(`/sys/fs/ext4/${disk.device()}/trigger_fs_error`, 'drill')
      await until(async () => (await health(s)) === 'failing', 'health to say so')
      await needTyped(s)
      await restartOfTheBox(s)
      disk.repair()
    })
  },
}

const failingCall: Disaster = {
  name: 'a call of the server fails while it makes a sandbox',
  async run(t) {
    const s = await faultyServer(t, env)
    const stored = await fill(s)
    return after(s, stored, async () => {
      s.arm('fails', 12)
      await s.call('POST', '/v0/sandboxes', { metadata: { name: 'more' }, spec: { runtime: { image: 'busybox' } } })
      await until(() => s.calls().length >= 12, 'the call')
      s.disarm()
      await s.until('more', body => body.status === 'DEPLOYED')
      await s.call('DELETE', '/v0/sandboxes/more')
      await s.until('more', (body, status) => status === 404 || body.status === 'TERMINATED')
    })
  },
}

const restored: Disaster = {
  name: 'the data directory is lost and restored from a backup',
  async run(t) {
    const s = await server(t, env)
    const stored = await fill(s)
    const dir = mkdtempSync(join(tmpdir(), 'hutch-drill-'))
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    const file = join(dir, 'backup.tar')
    const made = await runCommand(['backup', file], { HUTCH_DATA_DIR: s.dataDir })
    if (made.code !== 0) throw new Error(made.error)
    return after(s, stored, async () => {
      await restartOfTheBox(s)
      for (const name of readdirSync(s.dataDir)) rmSync(join(s.dataDir, name), { recursive: true })
      const back = await runCommand(['restore', file], { HUTCH_DATA_DIR: s.dataDir })
      if (back.code !== 0) throw new Error(back.error)
    })
  },
}

export const disasters: readonly Disaster[] = [
  simple('the server is killed', s => s.kill()),
  simple('the server is killed while it makes a sandbox', async s => {
    await s.call('POST', '/v0/sandboxes', { metadata: { name: 'more' }, spec: { runtime: { image: 'busybox' } } })
    await systemClock().sleep(60)
    await s.kill()
    await s.start()
    await s.until('more', body => body.status === 'DEPLOYED')
    await s.call('DELETE', '/v0/sandboxes/more')
    await s.until('more', (body, status) => status === 404 || body.status === 'TERMINATED')
  }),
  simple('every process of every sandbox is killed', async s => killAll(processesOf(s))),
  simple('the box is restarted: all is gone but the disk', restartOfTheBox),
  failingCall,
  fullDisk,
  readOnlyDisk,
  restored,
]
