/**
 * Ids of the box that the users of machines really have. Each slot has 65536 of them, so that user 0 to 65535 inside are
 * nobody else outside; each instance claims as many as its slots can need.
 */
import { readFile } from 'node:fs/promises'
import { errno, fail } from '../../../../shared/errors.ts'
import type { Names } from '../names.ts'
import { claimantOf, claimsOf, releaseClaims, renewClaim, takeClaim } from '../registry.ts'

/** Users and groups of one machine, 0 to 65535. */
export const idsPerMachine = 65_536
/** A block of addresses has 2048 slots at most. */
const idsPerInstance = 2_048 * idsPerMachine

const kind = 'ids'
/** 2^31 and above, where hardly anybody else is; then 2^29 and above. The last ids of all stay free, for probes and for -1. */
const firsts = [
  ...Array.from({ length: 15 }, (_, at) => 2 ** 31 + at * idsPerInstance),
  ...Array.from({ length: 12 }, (_, at) => 2 ** 29 + at * idsPerInstance),
]

/** The range of machines that are started to see whether they start. */
export const probeIds = 2 ** 32 - 2 * idsPerMachine

/** Where the range of a slot begins, in that of the instance. */
export const idsOfSlot = (first: number, index: number): number => first + index * idsPerMachine

interface Range {
  readonly first: number
  readonly count: number
}

/** Ranges in the text of /etc/subuid or /etc/subgid, which other programs may give to containers of their own. */
export const delegated = (text: string): Range[] =>
  [...text.matchAll(/^[^#:\n]+:(\d+):(\d+)\s*$/gm)].map(([, first, count]) => ({
    first: Number(first),
    count: Number(count),
  }))

const readDelegated = async (file: string): Promise<Range[]> => {
  try {
    return delegated(await readFile(file, 'utf8'))
  } catch (error) {
    if (errno(error) === 'ENOENT') return []
    throw error
  }
}

const isFree = (first: number, others: readonly Range[]): boolean =>
  others.every(other => other.first + other.count <= first || first + idsPerInstance <= other.first)

/** The first id of the instance's range: the one it has claimed before, or a free one. Throws `busy` when there is none. */
export const claimIds = async (names: Names, dataDir: string): Promise<number> => {
  const claimant = await claimantOf(names.tag, dataDir)
  const mine = (await claimsOf(kind)).find(({ tag }) => tag === names.tag)
  if (mine) {
    await renewClaim(kind, mine.name, claimant)
    return Number(mine.name)
  }
  const others = (await Promise.all(['/etc/subuid', '/etc/subgid'].map(readDelegated))).flat()
  for (const first of firsts)
    if (isFree(first, others) && (await takeClaim(kind, String(first), claimant))) return first
  throw fail('busy', {
    what: 'every range of user ids for sandboxes is used by another instance or delegated in /etc/subuid or /etc/subgid',
    next: 'end instances that are no longer needed, or set HUTCH_USER_NAMESPACES=off',
  })
}

export const releaseIds = (names: Names): Promise<void> => releaseClaims(kind, names.tag)
