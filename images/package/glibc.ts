import { createRequire } from 'node:module'
import { join } from 'node:path'
import { execa } from 'execa'

const newest = (versions: readonly string[]): string =>
  versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? '0'

/** The newest version of glibc that a binary asks for, as `2.34`. */
const askedBy = async (file: string): Promise<string> => {
  const { stdout } = await execa('objdump', ['-T', file])
  return newest([...stdout.matchAll(/GLIBC_(\d+\.\d+)/g)].map(match => match[1] as string))
}

/** Throws unless check-platform.cjs asks for exactly the glibc that the host's own binaries ask for. */
export const checkGlibc = async (root: string, helpers: readonly string[]): Promise<void> => {
  const { needed } = createRequire(import.meta.url)('./check-platform.cjs') as { needed: { glibc: number[] } }
  const sqlite = join(root, 'node_modules/better-sqlite3/prebuilds/linux-x64.node')
  const asked = newest(await Promise.all([...helpers, sqlite].map(askedBy)))
  const stated = needed.glibc.join('.')
  if (asked !== stated)
    throw new Error(`binaries of the package ask for glibc ${asked}, images/package/check-platform.cjs for ${stated}`)
}
