/**
 * A Debian as it is after its installer: a root of its own from mmdebstrap, which is gone afterwards, with mounts and processes of its
 * own on this kernel. What it runs is an operator's: it may install packages, and run sandboxes.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { execa } from 'execa'
import { openHierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { namesOf } from '../../control/drivers/oci/names.ts'
import { sweepInstance } from '../../control/drivers/oci/sweep.ts'
import { systemClock } from '../../shared/clock.ts'
import { checkout } from './chroot.ts'
import { debianRoot } from './clean-root.ts'
import type { Teardowns } from './server.ts'

// pivot_root and not chroot, which runc refuses.
const script = [
  'set -e',
  'root=$1 network=$2; shift 2',
  'mount --bind "$root" "$root"; cd "$root"; mkdir -p old; mount -t proc proc proc; mount --rbind /dev dev; mount -t tmpfs none run',
  'mkdir run/netns; mount -t sysfs sysfs sys; mount --rbind /sys/fs/cgroup sys/fs/cgroup',
  'if [ "$network" = own ]; then ip link set lo up; fi',
  'pivot_root . old; cd /; umount -l old',
  'exec bash -lc "$1"',
].join('\n')

export interface DebianBox {
  /** Where the root is on this machine. */
  readonly dir: string
  /** A directory in it that no other instance on this machine has, as it is called inside. */
  readonly home: string
  /**
   * Runs lines of bash in it, as root with a login's environment; all of its processes end with them. Unless it is given the
   * internet, it has a loopback of its own, where every port is free. Sandboxes run only there: on the network of this machine its
   * instances would be taken for dead by others', which see neither their files nor their processes.
   */
  run(lines: string, options?: { network?: 'own' | 'internet'; timeoutS?: number }): Promise<Ran>
}

export interface Ran {
  readonly all: string
  readonly exitCode: number | undefined
}

/** What this machine trusts besides Debian's authorities, which its network may need. */
const addAuthorities = (dir: string): void => {
  const own = '/usr/local/share/ca-certificates'
  for (const file of existsSync(own) ? readdirSync(own).filter(name => name.endsWith('.crt')) : [])
    cpSync(join(own, file), join(dir, own, file), { dereference: true })
}

const proxies = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

/**
 * `dataDirs`: where servers in it keep their data, below its home; what machines of these have left on the kernel (control groups, links)
 * is removed at the end. Throws without Debian's archive.
 */
export const debianBox = async (
  t: Teardowns,
  packages: readonly string[],
  dataDirs: readonly string[],
): Promise<DebianBox> => {
  const kept = debianRoot(packages)
  mkdirSync(join(checkout, '.runtime/clean-root'), { recursive: true })
  const dir = mkdtempSync(join(checkout, '.runtime/clean-root/.box-'))
  const home = `/srv/${basename(dir).slice(1)}`
  t.teardown(async () => {
    const hierarchy = await openHierarchy()
    for (const path of dataDirs) {
      // As `tagOf` makes it where that directory is.
      const tag = createHash('sha256').update(join(home, path)).digest('hex').slice(0, 8)
      await sweepInstance(hierarchy, namesOf(tag), systemClock())
    }
    rmSync(dir, { recursive: true, force: true })
  })
  execFileSync('cp', ['-a', `${kept}/.`, dir])
  mkdirSync(join(dir, home))
  addAuthorities(dir)
  cpSync('/etc/resolv.conf', join(dir, 'etc/resolv.conf'), { dereference: true })
  const own = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child']
  const passed = Object.fromEntries(proxies.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])))
  const run: DebianBox['run'] = async (lines, { network = 'own', timeoutS = 60 } = {}) => {
    const net = network === 'own' ? ['--net'] : []
    const ran = await execa('unshare', [...own, ...net, 'bash', '-c', script, 'in', dir, network, lines], {
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        HOME: '/root',
        TERM: 'xterm',
        ...passed,
      },
      extendEnv: false,
      stdin: 'ignore',
      all: true,
      reject: false,
      timeout: timeoutS * 1000,
      forceKillAfterDelay: 5_000,
    })
    return { all: ran.all, exitCode: ran.exitCode }
  }
  await run('update-ca-certificates')
  return { dir, home, run }
}
