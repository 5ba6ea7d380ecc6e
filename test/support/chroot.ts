/** Programs in a root file system of their own, with the bundle at /.hutch: a mount namespace and chroot, nothing else. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listNames, readName, treePath } from '../../control/core/images/layout.ts'

export const checkout = fileURLToPath(new URL('../..', import.meta.url))
const runtime = join(checkout, '.runtime')

/** Makes the bundle if it is not up to date and answers its directory. */
export const bundle = (): string => {
  for (const script of ['native.sh', 'bundle.sh'])
    execFileSync('bash', [join(checkout, 'images/setup', script)], { stdio: ['ignore', 'ignore', 'inherit'] })
  return realpathSync(join(runtime, 'bundle'))
}

/** The root file system of a base image, made if it is not there. */
export const imageRoot = async (name: string): Promise<string> => {
  const dir = join(runtime, 'images')
  if (!(await listNames(dir)).includes(name))
    execFileSync('bash', [join(checkout, 'images', name, 'build.sh')], { stdio: ['ignore', 'ignore', 'inherit'] })
  const digest = await readName(dir, name)
  if (!digest) throw new Error(`image ${name} was not built`)
  return join(treePath(dir, digest), 'rootfs')
}

/** Path of a program of this machine, or undefined. */
export const findInPath = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(':')
    .map(dir => join(dir, name))
    .find(path => existsSync(path))

/** Why nothing can be run in a root of its own here, or false. */
export const withoutChroot: string | false =
  process.getuid?.() === 0 && existsSync('/proc/self/ns/mnt') ? false : 'needs root and mount namespaces'

// As in a sandbox: the image below, a writable layer above. The mounts end with the namespace, and that with the program.
const script = [
  'set -e',
  'root=$1 bundle=$2; shift 2',
  'mount -t tmpfs none /mnt; mkdir /mnt/root /mnt/upper /mnt/work',
  'mount -t overlay none -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root',
  'mount --bind "$bundle" /mnt/root/.hutch; mount -o remount,ro,bind /mnt/root/.hutch',
  'mount -t proc proc /mnt/root/proc; mount --rbind /dev /mnt/root/dev',
  'mount -t sysfs -o ro sysfs /mnt/root/sys 2>/dev/null || mount --rbind /sys /mnt/root/sys',
  'exec $tracer chroot /mnt/root "$@"',
].join('\n')

/** Starts `command` in `root` with an empty network of its own (`network: 'own'`) or the caller's. */
export const chrooted = (
  where: {
    root: string
    bundle: string
    network: 'own' | 'shared'
    env?: Record<string, string>
    /** What runs the chroot: a program and its arguments, without spaces in them. */
    tracer?: readonly string[]
  },
  command: readonly string[],
): ChildProcess => {
  const { root, network, env = {}, tracer = [] } = where
  const namespaces = network === 'own' ? ['--mount', '--net'] : ['--mount']
  return spawn('unshare', [...namespaces, 'bash', '-c', script, 'in', root, where.bundle, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { tracer: tracer.join(' '), PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...env },
  })
}

/** Runs `command` to its end and answers what it wrote and its exit code. */
export const runChrooted = (...args: Parameters<typeof chrooted>): Promise<{ out: string; code: number | null }> =>
  new Promise((resolve, reject) => {
    const child = chrooted(...args)
    let out = ''
    child.stdout?.on('data', chunk => (out += chunk))
    child.stderr?.on('data', chunk => (out += chunk))
    child.once('error', reject)
    child.once('close', code => resolve({ out, code }))
  })
