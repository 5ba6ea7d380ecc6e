/**
 * A Debian root with nothing for building: Node, two versions of npm and the programs that sandboxes need. It is made once
 * and kept in .runtime; what runs in it writes into a layer of its own, which is gone afterwards.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { checkout } from './chroot.ts'

const runtime = join(checkout, '.runtime')
const packages = ['ca-certificates', 'iproute2', 'iptables', 'runc']
const systemAuthorities = '/etc/ssl/certs/ca-certificates.crt'
export const npmVersions = ['11.19.1', '12.2.0'] as const

/** The directory in .runtime that `make` fills unless it is there already. */
const kept = (name: string, make: (work: string) => void): string => {
  const place = join(runtime, 'clean-root', name)
  if (existsSync(place)) return place
  mkdirSync(join(runtime, 'clean-root'), { recursive: true })
  const work = mkdtempSync(join(runtime, 'clean-root', '.new-'))
  try {
    make(work)
    renameSync(work, place)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return place
}

/** The machine's own sources if it is bookworm, so that its mirror serves; the default mirror elsewhere. */
const sources = (): { args: string[]; input: string } => {
  const isBookworm = /VERSION_CODENAME=bookworm/.test(readFileSync('/etc/os-release', 'utf8'))
  const own = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].find(
    path => isBookworm && existsSync(path) && readFileSync(path, 'utf8').trim() !== '',
  )
  return own ? { args: ['-'], input: readFileSync(own, 'utf8') } : { args: [], input: '' }
}

/** The root file system with these packages; its name says what is in it. */
export const debianRoot = (packages: readonly string[]): string => {
  const name = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 16)
  return kept(`root-${name}`, work => {
    const { args, input } = sources()
    const flags = ['--quiet', '--variant=minbase', '--mode=root', `--include=${packages.join(',')}`]
    execFileSync('mmdebstrap', [...flags, 'bookworm', work, ...args], { input, stdio: ['pipe', 'ignore', 'pipe'] })
  })
}

const npmDir = (version: string): string =>
  kept(`npm-${version}`, work => {
    const options = ['--silent', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=5000']
    execFileSync('npm', ['pack', ...options, `npm@${version}`], {
      cwd: work,
      // As in set-up: Node by itself does not know the authorities that this machine trusts.
      env: { NODE_EXTRA_CA_CERTS: systemAuthorities, ...process.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [archive = ''] = readdirSync(work)
    execFileSync('tar', ['xzf', archive], { cwd: work })
    rmSync(join(work, archive))
  })

/** Why there can be no such root here, or false. It comes from Debian's archive and the npm registry when it is made. */
export const withoutCleanRoot = (): string | false => {
  if (process.getuid?.() !== 0) return 'needs root'
  try {
    debianRoot(packages)
    for (const version of npmVersions) npmDir(version)
    return false
  } catch (error) {
    const said = String((error as { stderr?: unknown }).stderr ?? error)
    return `needs Debian's archive and the npm registry once: ${said.trim().split('\n').at(-1)}`
  }
}

// /run/hutch is the box's: instances on it share out addresses there. pivot_root and not chroot, which runc refuses.
const script = [
  'set -e',
  'root=$1 shared=$2 tools=$3; shift 3',
  'mount -t tmpfs none /mnt; mkdir /mnt/root /mnt/upper /mnt/work; mkdir -p /run/hutch',
  'mount -t overlay none -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root; cd /mnt/root',
  'mkdir -p old tools ".$shared"; mount --rbind "$tools" tools; mount --bind "$shared" ".$shared"',
  'mount -t proc proc proc; mount --rbind /sys sys; mount --rbind /dev dev; mount -t tmpfs none run',
  'mkdir -p run/netns run/hutch; mount --bind /run/hutch run/hutch',
  'cat /etc/resolv.conf >etc/resolv.conf; cat /etc/ssl/certs/ca-certificates.crt >etc/ssl/certs/ca-certificates.crt',
  'pivot_root . old; cd /; umount -l old; cd "$shared"',
  'exec /bin/sh -c "$1"',
].join('\n')

const proxies = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

/**
 * Runs a shell line in the root, in `shared`, a directory of this machine that is there under the same path. The checkout
 * is at /tools. `npm` is the version asked for; packages that it has fetched once are kept.
 */
export const inCleanRoot = (where: { shared: string; npm?: (typeof npmVersions)[number] }, line: string) => {
  const { shared, npm = npmVersions[0] } = where
  const tool = (name: string) => `/tools/.runtime/clean-root/npm-${npm}/package/bin/${name}-cli.js`
  const functions = ['npm', 'npx'].map(name => `${name}() { node ${tool(name)} "$@"; }`).join('; ')
  const passed = Object.fromEntries(proxies.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])))
  // With a process table of its own, so that all of it ends with it.
  const own = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child']
  return execa(
    'unshare',
    [...own, 'bash', '-c', script, 'in', debianRoot(packages), shared, checkout, `${functions}; ${line}`],
    {
      env: {
        PATH: '/tools/.runtime/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        HOME: '/root',
        NODE_EXTRA_CA_CERTS: systemAuthorities,
        npm_config_cache: '/tools/.runtime/clean-root/npm-cache',
        npm_config_prefer_offline: 'true',
        npm_config_update_notifier: 'false',
        ...passed,
      },
      extendEnv: false,
      stdin: 'ignore',
      all: true,
      reject: false,
      timeout: 300_000,
    },
  )
}
