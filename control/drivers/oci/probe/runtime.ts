/** Starts a container with a runtime: the only way to know. */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openHierarchy } from '../cgroup/hierarchy.ts'
import { prepareParent } from '../cgroup/parent.ts'
import { killGroup, removeGroup } from '../cgroup/processes.ts'
import { run, tool } from '../command.ts'
import { runtimeOf, type Stack } from '../runtime.ts'
import { daemonCapabilities } from '../spec/capabilities.ts'
import { seccompProfile } from '../spec/seccomp.ts'
import { carryOut, type Check, type ProbeContext } from './check.ts'

/** The host's own programs, read-only: every box has them, and nothing has to be fetched. */
const hostMounts = () =>
  ['/bin', '/lib', '/lib64', '/usr']
    .filter(path => existsSync(path))
    .map(path => ({ destination: path, type: 'bind', source: path, options: ['rbind', 'ro'] }))

const config = (rootDir: string, group: string, netns: string): object => {
  const capabilities = [...daemonCapabilities]
  return {
    ociVersion: '1.0.2',
    root: { path: rootDir, readonly: false },
    hostname: 'probe',
    process: {
      user: { uid: 0, gid: 0 },
      args: ['/bin/sh', '-c', 'echo started'],
      env: ['PATH=/usr/bin:/bin'],
      cwd: '/',
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    },
    mounts: [{ destination: '/proc', type: 'proc', source: 'proc' }, ...hostMounts()],
    linux: {
      cgroupsPath: `/${group}`,
      namespaces: [
        ...['pid', 'ipc', 'uts', 'mount'].map(type => ({ type })),
        { type: 'network', path: `/run/netns/${netns}` },
      ],
      resources: { memory: { limit: 256 * 1024 * 1024 }, pids: { limit: 64 }, cpu: { shares: 1024 } },
      seccomp: seccompProfile(process.arch),
    },
  }
}

/** Milliseconds that one container took from start to end; throws with what the runtime said. */
const tryContainer = async (name: string, stack: Stack, context: ProbeContext): Promise<number> => {
  const { word, scratch, clock, signal } = context
  const label = `hutch-probe-${word}-${stack}`
  const bundle = join(scratch, `${name}-${stack}`)
  const rootDir = join(bundle, 'root')
  const hierarchy = await openHierarchy()
  const { file, args } = runtimeOf(name, { runDir: join(bundle, 'state') }, stack)
  const ip = tool('ip')
  await run({ step: 'network', file: ip, args: ['netns', 'add', label] })
  try {
    await prepareParent(hierarchy, label)
    await mkdir(rootDir, { recursive: true })
    await writeFile(join(bundle, 'config.json'), JSON.stringify(config(rootDir, `${label}/${name}`, label)))
    const start = clock.elapsed()
    const said = await run({ step: 'run', file, args: [...args, 'run', '--bundle', bundle, label], signal })
    if (!said.includes('started')) throw new Error(`it said "${said.slice(0, 200)}"`)
    return Math.round(clock.elapsed() - start)
  } finally {
    await killGroup(hierarchy, label, clock)
    await removeGroup(hierarchy, label, clock)
    await run({ step: 'network', file: ip, args: ['netns', 'del', label] })
    await rm(bundle, { recursive: true, force: true })
  }
}

/** `name`: runc, runsc or crun. */
export const startsContainer = (name: string): Check => ({
  required: true,
  title: `${name} starts a container`,
  next: `install or repair ${name} (on Debian: apt-get install ${name}), or set HUTCH_RUNTIME to another`,
  run: async context => `${await tryContainer(name, 'kernel', context)} ms`,
})

/** Only for runsc. */
export const ownNetworkStack: Check = {
  required: false,
  title: "gVisor's own network stack",
  next: 'install a newer runsc; until then sockets of sandboxes are served by the host kernel, in their own namespace',
  run: async context => `${await tryContainer('runsc', 'own', context)} ms`,
}

/** The strongest stack that works with this runtime on this kernel; old versions of runsc misread new kernels. */
export const chooseStack = async (name: string, context: ProbeContext): Promise<Stack> => {
  if (name !== 'runsc') return 'kernel'
  return (await carryOut(ownNetworkStack, context)).ok ? 'own' : 'kernel'
}
