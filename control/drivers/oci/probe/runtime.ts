/** Starts a container with a runtime: the only way to know. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { groupDirs, openHierarchy } from '../cgroup/hierarchy.ts'
import { killGroup, removeGroup } from '../cgroup/processes.ts'
import { run, tool } from '../command.ts'
import { namesOf } from '../names.ts'
import { runtimeOf } from '../runtime.ts'
import { daemonCapabilities } from '../spec/capabilities.ts'
import { seccompProfile } from '../spec/seccomp.ts'
import type { Check } from './check.ts'

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

/** `name`: runc, runsc or crun. */
export const startsContainer = (name: string): Check => ({
  required: true,
  title: `${name} starts a container`,
  next: `install or repair ${name} (on Debian: apt-get install ${name}), or set HUTCH_RUNTIME to another`,
  async run({ word, scratch, clock, signal }) {
    const bundle = join(scratch, name)
    const rootDir = join(bundle, 'root')
    const names = { ...namesOf(word), runDir: join(bundle, 'state') }
    const group = `hutch-probe-${word}-${name}`
    const hierarchy = await openHierarchy()
    tool(name)
    const { file, args } = runtimeOf(name, names)
    const netns = `hutch-probe-${word}`
    await run({ step: 'network', file: tool('ip'), args: ['netns', 'add', netns] })
    try {
      await mkdir(rootDir, { recursive: true })
      await writeFile(join(bundle, 'config.json'), JSON.stringify(config(rootDir, group, netns)))
      const start = clock.elapsed()
      const said = await run({ step: 'run', file, args: [...args, 'run', '--bundle', bundle, `probe-${word}`], signal })
      if (!said.includes('started')) throw new Error(`it said "${said.slice(0, 200)}"`)
      return `${Math.round(clock.elapsed() - start)} ms`
    } finally {
      if ((await groupDirs(hierarchy, group)).length > 0) await killGroup(hierarchy, group, clock)
      await removeGroup(hierarchy, group, clock)
      await run({ step: 'network', file: tool('ip'), args: ['netns', 'del', netns] })
      await rm(bundle, { recursive: true, force: true })
    }
  },
})
