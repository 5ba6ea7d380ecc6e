/** A whole host in this process: real store, reconcilers and gateway; its machines are real daemons on loopback. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openHost, type Config, type Hutch } from '../../control/index.ts'
import type { MachineSpec } from '../../control/drivers/driver.ts'
import { fakeDriver, fakeWorld, type FakeServer, type FakeWorld } from '../../control/drivers/fake/index.ts'
import { silentLog } from '../../shared/log.ts'
import { coverageEnvironment } from './coverage.ts'

/** Starts the daemon of one machine with directories of its own below `root`. */
const serveMachine = async (root: string, spec: MachineSpec): Promise<FakeServer> => {
  const at = (name: string) => {
    const path = join(root, spec.id, name)
    mkdirSync(path, { recursive: true })
    return path
  }
  const work = at('work')
  const env = {
    ...spec.env,
    ...coverageEnvironment,
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: at('home'),
    TMPDIR: at('tmp'),
    WORKDIR: work,
    SANDBOX_LOG_DIR: at('logs'),
    SANDBOX_STATE_FILE: join(at('state'), 'processes.json'),
    SANDBOX_PROXY_STATE_FILE: join(at('state'), 'proxy.json'),
    SANDBOX_MERGED_CA_PATH: join(at('state'), 'ca.crt'),
    SVC_METADATA_PATH: join(at('state'), 'metadata'),
    SVC_SCALE_FILE: join(at('state'), 'scale'),
    HUTCH_STATE_DIR: join(at('state'), 'private'),
    HUTCH_UPGRADE_DIR: join(at('state'), 'upgrade'),
  }
  // In a process of its own: each daemon reaps what it started.
  const child = fork(new URL('daemon-process.ts', import.meta.url), [], { env, cwd: work, stdio: 'inherit' })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const ended = once(child, 'exit')
  return {
    host: '127.0.0.1',
    port,
    async close() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}

export interface TestHost {
  readonly host: Hutch
  readonly world: FakeWorld
  readonly dataDir: string
  /** Opens another host on the same data and the same box; close the first one before. */
  readonly reopen: () => Promise<Hutch>
}

const digest = '0'.repeat(64)

export const testHost = async (t: Test, options: Partial<Config> = {}): Promise<TestHost> => {
  const root = t.testdir({
    data: {},
    machines: {},
    images: { names: {}, trees: { [digest]: { rootfs: {} } } },
  })
  const dataDir = join(root, 'data')
  const imagesDir = join(root, 'images')
  writeFileSync(join(imagesDir, 'names', 'base.json'), JSON.stringify({ digest }))
  writeFileSync(
    join(imagesDir, 'trees', digest, 'image.json'),
    JSON.stringify({ env: { FROM_IMAGE: 'yes' }, workdir: '/', user: '', command: [] }),
  )
  const world = fakeWorld()
  const driver = () => fakeDriver({ world, serve: spec => serveMachine(join(root, 'machines'), spec) })
  const open = async () => {
    const opened = await openHost(
      { dataDir, imagesDir, port: 0, standbyAfterMs: 3_600_000, ...options },
      { drivers: [driver()], log: silentLog },
    )
    t.teardown(opened.close)
    return opened
  }
  // Teardowns run last first: hosts close before the machines they look after.
  t.teardown(async () => {
    for (const { server } of world.machines.values()) await server?.close()
  })
  return { host: await open(), world, dataDir, reopen: open }
}
