/**
 * What instances on this box claim for themselves, in directories below `/run/hutch`. A claim is a file whose name says
 * what is claimed, made by `link(2)`, so that it exists whole or not at all and only one of several that want it gets it.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { link, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail } from '../../../shared/errors.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'
import { registryDir } from './names.ts'
import { whereabouts, whereaboutsOf } from './whereabouts.ts'

const shape = s.object({
  tag: s.string(),
  dataDir: s.string(),
  pid: s.int(),
  /** Absent in claims of versions before. */
  seen: s.optional(whereabouts),
})
export type Claimant = Out<typeof shape>

export interface Claim extends Claimant {
  readonly name: string
}

/** Blocks of addresses, ranges of user ids. */
const kinds = ['blocks', 'ids'] as const
export type Kind = (typeof kinds)[number]

const directoryOf = (kind: Kind): string => join(registryDir, kind)

const read = (text: string, file: string): Claimant => {
  try {
    return parse(shape, JSON.parse(text), 'config')
  } catch (error) {
    const reason = `${file} is no claim of an instance; find out whose it is and remove it`
    throw fail('driver_failed', { driver: 'oci', step: 'claims', reason }, error)
  }
}

/** None when it is not there, which it is from then on. */
const namesIn = (directory: string): string[] => {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error
    mkdirSync(directory, { recursive: true, mode: 0o755 })
    return []
  }
}

const textOf = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    // Given back between the listing and the reading.
    if (errno(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Claims of all instances on the box. Read at once: they are a few small files in memory, and a create that looks how much of the disk is
 * promised would take a turn of the thread pool for each of four steps with each.
 */
export const claimsOf = async (kind: Kind): Promise<Claim[]> => {
  const directory = directoryOf(kind)
  const found: Claim[] = []
  for (const name of namesIn(directory)) {
    const file = join(directory, name)
    const text = textOf(file)
    if (text !== undefined) found.push({ ...read(text, file), name })
  }
  return found
}

/** Every instance that has claimed something, once. */
export const claimants = async (): Promise<Claimant[]> => {
  const claims = (await Promise.all(kinds.map(claimsOf))).flat()
  return [...new Map(claims.map(claim => [claim.tag, claim])).values()]
}

/** What this process claims with. */
export const claimantOf = async (tag: string, dataDir: string): Promise<Claimant> => ({
  tag,
  dataDir,
  pid: process.pid,
  seen: await whereaboutsOf(dataDir),
})

/** Writes beside the claims and moves it there with `place`, so that no reader ever sees a part. */
const placed = async <T>(claimant: Claimant, place: (beside: string) => Promise<T>): Promise<T> => {
  const beside = join(registryDir, `.${claimant.tag}.${process.pid}.claim`)
  await writeFile(beside, JSON.stringify(claimant))
  try {
    return await place(beside)
  } finally {
    await rm(beside, { force: true })
  }
}

/** False when another instance was first. */
export const takeClaim = (kind: Kind, name: string, claimant: Claimant): Promise<boolean> =>
  placed(claimant, async beside => {
    try {
      await link(beside, join(directoryOf(kind), name))
      return true
    } catch (error) {
      if (errno(error) === 'EEXIST') return false
      throw error
    }
  })

/** Says that this process has it now. */
export const renewClaim = (kind: Kind, name: string, claimant: Claimant): Promise<void> =>
  placed(claimant, beside => rename(beside, join(directoryOf(kind), name)))

export const releaseClaim = (kind: Kind, name: string): Promise<void> =>
  rm(join(directoryOf(kind), name), { force: true })

/** Gives back what the instance has claimed. */
export const releaseClaims = async (kind: Kind, tag: string): Promise<void> => {
  for (const claim of await claimsOf(kind)) if (claim.tag === tag) await releaseClaim(kind, claim.name)
}
