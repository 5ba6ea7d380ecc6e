/** Probes of the kernel's parts: control groups, firewall, network namespaces, overlay. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freezeGroup, thawGroup } from '../cgroup/freezer.ts'
import { openHierarchy } from '../cgroup/hierarchy.ts'
import { killGroup, removeGroup } from '../cgroup/processes.ts'
import { run, tool } from '../command.ts'
import { forwards } from '../net/forwarding.ts'
import { tryHold } from '../net/outbound.ts'
import { carriesOverlay } from '../overlay.ts'
import type { Check } from './check.ts'

const needed = ['memory', 'pids', 'cpu', 'freezer'] as const

export const cgroups: Check = {
  required: true,
  title: 'control groups',
  next: 'boot with cgroup_enable=memory, or mount the missing controllers below /sys/fs/cgroup',
  async run() {
    const hierarchy = await openHierarchy()
    const missing = needed.filter(controller => hierarchy.mountOf(controller) === undefined)
    if (missing.length > 0) throw new Error(`no ${missing.join(', ')} controller`)
    if (hierarchy.version === 2) {
      const controllers = (await readFile('/sys/fs/cgroup/cgroup.controllers', 'utf8')).split(/\s+/)
      const absent = ['memory', 'pids', 'cpu'].filter(name => !controllers.includes(name))
      if (absent.length > 0) throw new Error(`no ${absent.join(', ')} controller`)
    }
    const notes = [
      hierarchy.mountOf('cpuset') ? '' : 'no cpuset: nproc inside shows all processors',
      hierarchy.limitsSwap ? '' : 'swap is not limited',
    ].filter(Boolean)
    return [`version ${hierarchy.version}`, ...notes].join('; ')
  },
}

export const freezer: Check = {
  required: true,
  title: 'freezing a process',
  next: 'the kernel needs CONFIG_CGROUP_FREEZER (version 1) or Linux 5.2 (version 2)',
  async run({ word, clock }) {
    const hierarchy = await openHierarchy()
    const group = `hutch-probe-${word}`
    const directory = join(hierarchy.mountOf('freezer') as string, group)
    const child = spawn('/bin/sleep', ['60'], { stdio: 'ignore', env: {} })
    const ended = once(child, 'exit')
    try {
      await mkdir(directory)
      await writeFile(join(directory, 'cgroup.procs'), String(child.pid))
      const start = clock.elapsed()
      await freezeGroup(hierarchy, group, clock)
      const ms = clock.elapsed() - start
      await thawGroup(hierarchy, group, clock)
      return `${ms.toFixed(1)} ms`
    } finally {
      child.kill('SIGKILL')
      await ended
      await killGroup(hierarchy, group, clock)
      await removeGroup(hierarchy, group, clock)
    }
  },
}

export const firewall: Check = {
  required: true,
  title: 'firewall rules (filter, nat, reverse path)',
  next: 'install iptables 1.8 and the kernel parts nf_conntrack, xt_MASQUERADE, xt_rpfilter; nothing starts without fences',
  async run({ word }) {
    const chain = `HUTCH-PROBE-${word}`
    const file = tool('iptables-restore')
    const bodies = {
      raw: ['-m rpfilter --invert -j DROP'],
      filter: ['-m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT', '-j DROP'],
      nat: ['-s 192.0.2.0/24 -j MASQUERADE'],
    }
    const script = (line: (table: string, rules: string[]) => string[]) =>
      Object.entries(bodies)
        .map(([table, rules]) => `*${table}\n${line(table, rules).join('\n')}\nCOMMIT\n`)
        .join('')
    const load = script((_, rules) => [`:${chain} - [0:0]`, ...rules.map(rule => `-A ${chain} ${rule}`)])
    const unload = script(() => [`-F ${chain}`, `-X ${chain}`])
    const args = ['--noflush', '--wait', '10']
    await run({ step: 'load rules', file, args, input: load })
    await run({ step: 'unload rules', file, args, input: unload })
    return ''
  },
}

export const outboundPolicies: Check = {
  required: false,
  title: 'outbound policies of sandboxes (rules by device group)',
  next: 'needs the kernel parts xt_devgroup and xt_nat; without them spec.network is refused',
  async run() {
    await tryHold()
    return ''
  },
}

export const network: Check = {
  required: true,
  title: 'a network namespace with a veth pair',
  next: 'install iproute2; the kernel needs CONFIG_NET_NS and CONFIG_VETH',
  async run({ word }) {
    const file = tool('ip')
    const name = `hutch-probe-${word}`
    const link = `hp-${word}`
    const batch = (lines: string[], args: string[] = []) =>
      run({ step: 'ip', file, args: [...args, '-batch', '-'], input: `${lines.join('\n')}\n` })
    try {
      await batch([`netns add ${name}`, `link add ${link} type veth peer name eth0 netns ${name}`])
    } finally {
      await batch([`netns del ${name}`], ['-force'])
    }
    return ''
  },
}

export const forwarding: Check = {
  required: false,
  title: 'packet forwarding',
  next: 'nothing to do: Hutch turns it on (net.ipv4.ip_forward=1) when it opens',
  async run() {
    if (!(await forwards())) throw new Error('is off')
    return 'is on'
  },
}

export const overlay: Check = {
  required: false,
  title: 'overlay mounts on the data directory',
  next: 'put HUTCH_DATA_DIR on ext4 or xfs (not on another overlay); until then each sandbox is a whole copy of its image',
  async run({ scratch }) {
    if (!(await carriesOverlay(scratch))) throw new Error('the kernel or the file system refuses them')
    return ''
  },
}
