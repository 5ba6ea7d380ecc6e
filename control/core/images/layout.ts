/**
 * An image directory as it is on disk; the recipes under images/ write the same:
 *
 *     trees/<digest>/rootfs/       the unpacked root file system, never changed once it is here
 *     trees/<digest>/image.json    what its configuration says
 *     names/<encoded key>.json     {"digest"}: what a name points at now
 *     pulled/<workspace>/<encoded reference>.json   what a workspace has pulled (pulled.ts)
 *     .new-*                       work in progress; of no worth after a crash
 */
import { readFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'

/** `image.json`: environment, working directory, user and command of the image's configuration. */
const imageConfig = s.object({
  env: s.record(s.string(), s.string()),
  workdir: s.string(),
  /** `name|uid[:group|gid]`, '' when the image names none. */
  user: s.string(),
  /** Entrypoint and command; empty when the image names none. */
  command: s._default(s.array(s.string()), []),
  labels: s._default(s.record(s.string(), s.string()), {}),
})
export type ImageConfig = Out<typeof imageConfig>

const pointer = s.object({ digest: s.string().check(s.regex(/^[0-9a-f]{16,64}$/)) })

/**
 * The value in a JSON file, or undefined when it is not there. Every create reads some, of a few hundred bytes: a promise of a
 * file would take the server ten times as long.
 */
export const readJson = async (file: string): Promise<unknown> => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    // A reference may be longer than a file's name.
    if (['ENOENT', 'ENAMETOOLONG'].includes(errno(error) ?? '')) return undefined
    throw error
  }
}

export const treePath = (dir: string, digest: string): string => join(dir, 'trees', digest)
export const configPath = (dir: string, digest: string): string => join(treePath(dir, digest), 'image.json')
export const namePath = (dir: string, key: string): string => join(dir, 'names', `${encodeURIComponent(key)}.json`)

/** The digest that `key` points at in `dir`, or undefined. */
export const readName = async (dir: string, key: string): Promise<string | undefined> => {
  const value = await readJson(namePath(dir, key))
  return value === undefined ? undefined : parse(pointer, value, 'config').digest
}

/** The configuration of a tree, or undefined when it is not there (whole). */
export const readTree = async (dir: string, digest: string): Promise<ImageConfig | undefined> => {
  const value = await readJson(configPath(dir, digest))
  return value === undefined ? undefined : parse(imageConfig, value, 'config')
}

/** The keys that `dir` has a name for, sorted. */
export const listNames = async (dir: string): Promise<string[]> =>
  (await entries(join(dir, 'names')))
    .filter(file => file.endsWith('.json') && !file.startsWith('.'))
    .map(file => decodeURIComponent(file.slice(0, -'.json'.length)))
    .sort()

/** The names in a directory; none when it is not there. */
export const entries = async (dir: string): Promise<string[]> => {
  try {
    return await readdir(dir)
  } catch (error) {
    if (errno(error) === 'ENOENT') return []
    throw error
  }
}

/** Removes work in progress; whoever was killed over it may still be writing for a moment. */
export const removeWork = (work: string): Promise<void> =>
  rm(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
