/** The file of a release: its address, and what it must look like. */
import { fail } from '../../shared/errors.ts'
import { goArch } from '../go-spelling.ts'

export interface Release {
  readonly version: string
  readonly baseUrl: string
}

const versionForm = /^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}$/

/**
 * What a caller asked for: `latest` unless it named a version. A version is one path segment; anything else could lead
 * to another project on the same host and is refused.
 */
export const releaseOf = (asked: unknown, defaultUrl: string): Release => {
  const { version, baseUrl } = (typeof asked === 'object' && asked !== null ? asked : {}) as Record<string, unknown>
  const wanted = typeof version === 'string' && version !== '' ? version : 'latest'
  if (!versionForm.test(wanted) || wanted.includes('..'))
    throw fail('invalid_argument', { field: 'version', reason: 'must be letters, digits, dots, dashes or underscores' })
  const base = typeof baseUrl === 'string' && baseUrl !== '' ? baseUrl.replace(/\/+$/, '') : defaultUrl
  return { version: wanted, baseUrl: base }
}

/** `sandbox-api-linux-amd64` and the like. */
export const assetName = (platform: string, arch: string): string => `sandbox-api-${platform}-${goArch(arch)}`

/** Where the asset of a release lies. */
export const assetUrl = ({ version, baseUrl }: Release, asset: string): string =>
  version === 'latest' ? `${baseUrl}/latest/download/${asset}` : `${baseUrl}/download/${version}/${asset}`

export const sizeLimits = { min: 1024, max: 500 * 1024 * 1024 } as const

/** Refuses a file that cannot be a program: `head` holds its first bytes, `size` counts all of them. */
export const checkProgram = (head: Buffer, size: number): void => {
  const { min, max } = sizeLimits
  const isElf = head.subarray(0, 4).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46]))
  const isScript = head.subarray(0, 2).toString('latin1') === '#!'
  if (size < min || size > max)
    throw fail('operation_failed', { reason: `a program has between ${min} and ${max} bytes, this has ${size}` })
  if (!isElf && !isScript)
    throw fail('operation_failed', { reason: 'the download is neither an ELF program nor a script' })
}
