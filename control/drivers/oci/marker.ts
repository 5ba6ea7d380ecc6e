/** What the driver must know of a machine after a crash, on disk beside it. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { errno } from '../../../shared/errors.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'

const shape = s.object({
  slot: s.int(),
  address: s.string(),
  gateway: s.string(),
  port: s.int(),
  /** Absent when the daemon has none. */
  channel: s.optional(s.object({ port: s.int(), generation: s.string() })),
  memoryMb: s.number(),
  cpus: s.number(),
  /** The daemon of this start has answered: the machine is whole. */
  ready: s.boolean(),
  /** Some start has answered: what the upper layer holds is the tenant's, and outlives the machine's end. */
  kept: s._default(s.boolean(), false),
  /** It was made for nobody, and may be claimed. */
  anonymous: s._default(s.boolean(), false),
  /** The image's directory under its overlay, and the inode that it was. */
  image: s.optional(s.object({ path: s.string(), inode: s.int() })),
  /** Its traffic goes to the outbound proxy. */
  held: s._default(s.boolean(), false),
  /** The id of the box that its root is, or was when it last ran, where it has users of its own. */
  firstId: s.optional(s.int()),
  /**
   * The file system that it writes to, and how much of that it may fill, MB; absent for a directory without end. With `project` that is a
   * directory whose files have this number, by which the data directory's own file system bounds them.
   */
  disk: s.optional(s.object({ mb: s.int(), room: s.int(), project: s.optional(s.int()) })),
  /** The volumes that it has attached. */
  volumes: s.optional(s.array(s.object({ id: s.string(), ephemeral: s.boolean() }))),
  /** A daemon that seals what it keeps has run: it believes nothing without a seal any more. */
  sealed: s._default(s.boolean(), false),
  /** Whose attributes mark what the upper layer hides: those of today, or `trusted` ones of versions before. */
  marks: s._default(s.enum(['trusted', 'user']), 'trusted'),
  /** The snapshot that its files come from; absent when they come from its image. */
  origin: s.optional(s.string()),
})
export type Marker = Out<typeof shape>

/** The file, and its text, that becomes the marker by `putMarker`. */
export const markerToBe = (path: string, marker: Marker): readonly [path: string, text: string] => [
  `${path}.new`,
  JSON.stringify(marker),
]

/** Replaces the marker by what is to be it; a reader sees the old or the new. */
export const putMarker = (path: string): Promise<void> => rename(`${path}.new`, path)

/** Replaces it at once: in some tens of microseconds, and not behind what waits for a thread. */
export const writeMarkerNow = (path: string, marker: Marker): void => {
  const [next, text] = markerToBe(path, marker)
  writeFileSync(next, text, { mode: 0o600 })
  renameSync(next, path)
}

const markerFrom = (text: string): Marker | undefined => {
  try {
    return parse(shape, JSON.parse(text), 'config')
  } catch {
    // A crash of the box can leave an empty file; what cannot be read was never whole.
    return undefined
  }
}

const unlessGone = (error: unknown): undefined => {
  if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined
  throw error
}

/** Undefined when there is none or it is not whole: the machine is then half-made. */
export const readMarker = async (path: string): Promise<Marker | undefined> => {
  const text = await readFile(path, 'utf8').catch(unlessGone)
  return text === undefined ? undefined : markerFrom(text)
}

/** The same at once, where somebody waits. */
export const readMarkerNow = (path: string): Marker | undefined => {
  try {
    return markerFrom(readFileSync(path, 'utf8'))
  } catch (error) {
    return unlessGone(error)
  }
}
