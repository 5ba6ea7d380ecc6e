/** How a program of the runtime bundle is run: known to what builds the bundle and to what uses it. */
import { join } from 'node:path'

/** Name of the dynamic loader in lib/, for this machine's processor. */
export const loaderName = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2'

/**
 * Node's flags in a sandbox. V8 rejects all code caches, also those of Node's modules, when flags that its
 * `cachedDataVersionTag` counts differ from the ones that the cache was made with, and a start then takes twice the processor
 * time: none of these is counted. Without --disable-sigusr1 everybody who may signal the daemon could open a debugger in it.
 * V8's memory reducer collects everything by a timer of eight seconds, twice: in a machine that has slept, that timer is due in
 * the moment in which somebody waits for it, and takes more than the request. The daemon collects by itself (`daemon/memory`).
 * With V8's own new generation of 1 MiB a start collects twice, half of it on another thread, for which a busy box lets it wait.
 */
export const nodeFlags = [
  '--disable-sigusr1',
  '--v8-pool-size=1',
  '--no-warnings',
  '--no-memory-reducer',
  '--min-semi-space-size=4',
] as const

/** Directory of the bundle with the loader and the libraries that take nothing from the root they run in. */
export const ownLibraries = 'own'

/** The same loader, which only its owner can read. */
export const daemonLoader = 'ld-hutchd.so'

/**
 * The command that runs `script` of the bundle at `root` through the bundle's own loader. Node names libraries for who
 * runs it by its path; the daemon of a sandbox has others.
 */
export const bundleCommand = (root: string, script: string): [string, ...string[]] => [
  join(root, ownLibraries, daemonLoader),
  '--inhibit-cache',
  // Of the program itself, which has no name here.
  '--inhibit-rpath',
  ':',
  '--library-path',
  join(root, ownLibraries),
  '--preload',
  join(root, 'daemon', 'native', 'memory.node'),
  join(root, 'bin', 'node'),
  ...nodeFlags,
  join(root, 'daemon', script),
]

/** The same on a machine whose files are to be believed: names are resolved there as everything else resolves them. */
export const bundleCommandAtHome = (root: string, script: string): [string, ...string[]] => [
  join(root, 'lib', loaderName),
  '--library-path',
  join(root, 'lib'),
  join(root, 'bin', 'node'),
  ...nodeFlags,
  join(root, 'daemon', script),
]

/** An environment in which the daemon changes nothing outside of `dir`. */
export const scratchEnvironment = (dir: string): Record<string, string> => ({
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: dir,
  WORKDIR: dir,
  TMPDIR: dir,
  SANDBOX_LOG_DIR: join(dir, 'log'),
  SANDBOX_STATE_FILE: join(dir, 'processes.json'),
  SANDBOX_PROXY_STATE_FILE: join(dir, 'proxy.json'),
  SANDBOX_MERGED_CA_PATH: join(dir, 'ca.crt'),
  HUTCH_STATE_DIR: join(dir, 'state'),
  HUTCH_UPGRADE_DIR: join(dir, 'upgrade'),
  HUTCH_DRIVES_ROOT: join(dir, 'drives'),
})
