/** A Docker engine of the benchmark's own: private socket, data and cgroup, and a network namespace for its bridge and firewall rules. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { cgroupMounts } from '../support/oci.ts'
import { find, scratch, start } from './child.ts'
import type { Bench } from './measure.ts'

const run = promisify(execFile)

export interface Docker {
  /** `docker run --rm IMAGE true`, with the network that it has unless told otherwise, as a sandbox has one. */
  runTrue(): Promise<void>
}

/** Starts it with `rootfs` as its image; undefined where it is not installed or does not come up, which is said. */
export const docker = async (bench: Bench, rootfs: string): Promise<Docker | undefined> => {
  const [engine, client] = [find('dockerd'), find('docker')]
  if (!engine || !client) {
    bench.skip('*.against-docker', 'needs docker: apt-get install docker.io')
    return undefined
  }
  const dir = scratch(bench, 'docker')
  const socket = join(dir, 'docker.sock')
  const group = `hutch-bench-${process.pid}`
  bench.later('cgroups of docker', () => {
    for (const mount of cgroupMounts()) if (existsSync(join(mount, group))) rmdirSync(join(mount, group))
  })
  const state = ['--data-root', join(dir, 'data'), '--exec-root', join(dir, 'exec'), '--pidfile', join(dir, 'pid')]
  const alone = ['--net', '--mount', engine, '--host', `unix://${socket}`, '--cgroup-parent', `/${group}`]
  const child = start(bench, 'unshare', [...alone, ...state, '--log-level', 'error'], {
    stdio: 'ignore',
    signal: 'SIGTERM',
  })
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DOCKER_CONFIG: dir, DOCKER_HOST: `unix://${socket}` }
  const up = () =>
    run(client, ['version'], { env }).then(
      () => true,
      () => false,
    )
  for (const end = performance.now() + 30_000; !(await up()); ) {
    if (child.exitCode !== null || performance.now() > end) {
      bench.skip('*.against-docker', 'dockerd does not start here')
      return undefined
    }
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  const packed = spawn('tar', ['-C', rootfs, '-c', '.'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const imported = spawn(client, ['import', '-', 'bench'], { env, stdio: ['pipe', 'ignore', 'ignore'] })
  const done = once(imported, 'exit')
  await pipeline(packed.stdout, imported.stdin)
  await done
  return {
    async runTrue() {
      await run(client, ['run', '--rm', 'bench', 'true'], { env })
    },
  }
}
