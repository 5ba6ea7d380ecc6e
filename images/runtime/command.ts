import { join } from 'node:path'
import { loaderName } from './binaries.ts'

/**
 * Node's flags in a sandbox. None may be V8's own: V8 rejects every code cache, also that of Node's modules, when its
 * flags are not the ones the cache was made with, and starting then takes twice the processor time.
 * Without --disable-sigusr1 anybody who may signal the daemon opens a debugger in it.
 */
export const nodeFlags = ['--disable-sigusr1', '--v8-pool-size=1', '--no-warnings'] as const

/** The command that runs `script` of the bundle at `root` through the bundle's own loader. */
export const bundleCommand = (root: string, script: string): [string, ...string[]] => [
  join(root, 'lib', loaderName),
  '--library-path',
  join(root, 'lib'),
  join(root, 'bin', 'node'),
  ...nodeFlags,
  join(root, 'daemon', script),
]
