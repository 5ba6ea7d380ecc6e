import { join } from 'node:path'
import { loaderName } from './binaries.ts'

/**
 * Node's flags in a sandbox; the code cache holds only for the flags it was made with.
 * Chosen by `images/runtime/measure.ts`: memory at rest first, since a box holds hundreds.
 */
export const nodeFlags = [
  '--expose-gc',
  '--single-threaded-gc',
  '--v8-pool-size=1',
  '--max-semi-space-size=1',
  '--no-warnings',
] as const

/** The command that runs `script` of the bundle at `root` through the bundle's own loader. */
export const bundleCommand = (root: string, script: string): [string, ...string[]] => [
  join(root, 'lib', loaderName),
  '--library-path',
  join(root, 'lib'),
  join(root, 'bin', 'node'),
  ...nodeFlags,
  join(root, 'daemon', script),
]
