/** What the container of a probe is made of. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stageDir } from '../names.ts'
import { daemonCapabilities } from '../spec/capabilities.ts'
import { seccompProfile } from '../spec/seccomp.ts'
import { userNamespace, usersOf } from '../spec/users.ts'

export interface Container {
  /** Id of the box that root inside is to be; undefined for root itself. */
  readonly firstId: number | undefined
  /** What it does, in a shell; nothing unless given. */
  readonly command?: string
}

/** The host's own programs, read-only: every box has them, and nothing has to be fetched. */
const hostMounts = () =>
  ['/bin', '/lib', '/lib64', '/usr']
    .filter(path => existsSync(path))
    .map(path => ({ destination: path, type: 'bind', source: path, options: ['rbind', 'ro'] }))

/** What it says first. */
export const started = 'started'

/** The runtime's configuration of a container in that control group and network namespace. */
export const trialConfig = (group: string, netns: string, { firstId, command = 'true' }: Container): object => {
  const capabilities = [...daemonCapabilities]
  return {
    ociVersion: '1.0.2',
    root: { path: join(stageDir, 'root'), readonly: false },
    hostname: 'probe',
    process: {
      user: { uid: 0, gid: 0 },
      args: ['/bin/sh', '-c', `echo ${started} && echo mine > /file && ${command}`],
      env: ['PATH=/usr/bin:/bin'],
      cwd: '/',
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
      ...hostMounts(),
    ],
    linux: {
      cgroupsPath: `/${group}`,
      ...(firstId === undefined ? {} : usersOf(firstId)),
      namespaces: [
        ...(firstId === undefined ? [] : [userNamespace]),
        ...['pid', 'ipc', 'uts', 'mount'].map(type => ({ type })),
        { type: 'network', path: `/run/netns/${netns}` },
      ],
      resources: { memory: { limit: 256 * 1024 * 1024 }, pids: { limit: 64 }, cpu: { shares: 1024 } },
      seccomp: seccompProfile(process.arch, { aio: true, nests: false }),
    },
  }
}
