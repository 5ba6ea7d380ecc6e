/** What differs between two snapshots of one sandbox, as it would see it: their files over those of its image. */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../../../shared/errors.ts'
import type { View, ViewedFile } from '../../../../drivers/snapshotter.ts'

export interface DiffEntry {
  readonly path: string
  readonly size: number
  readonly type: ViewedFile['type']
  /** As text, where that was asked for and it is one. */
  readonly before?: string
  readonly after?: string
}

export interface Diff {
  readonly added: readonly DiffEntry[]
  readonly changed: readonly DiffEntry[]
  readonly removed: readonly DiffEntry[]
  /** There is more than is told. */
  readonly truncated: boolean
}

/** Entries of each list; files whose content is told, and bytes of each. */
const [mostEntries, mostContents, mostBytes] = [1_000, 20, 65_536]

/** What the host writes anew with each start, and what the daemon keeps of its processes. */
const hosts = /^(etc\/(hostname|hosts|resolv\.conf|machine-id|hutch-[a-z.-]+)$|var\/log\/sandbox-api(\/|$))/

type Seen = Pick<ViewedFile, 'type' | 'size' | 'mark'>

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

/** What an image has at a path; no part of the path is followed that is a link: images are made by anybody. */
const imageAt = (rootfs: string) => {
  const known = new Map<string, Promise<Seen | undefined>>()
  const look = async (path: string): Promise<Seen | undefined> => {
    if (path.includes('/') && (await at(parentOf(path)))?.type !== 'directory') return undefined
    try {
      const facts = await lstat(join(rootfs, path), { bigint: true })
      const type = facts.isFile()
        ? 'file'
        : facts.isDirectory()
          ? 'directory'
          : facts.isSymbolicLink()
            ? 'link'
            : 'other'
      const letter = { file: 'f', directory: 'd', link: 'l', other: 'o' }[type]
      const owner = `${(facts.mode & 0o7777n).toString(8)} ${facts.uid} ${facts.gid}`
      const time = `${facts.mtimeNs / 1_000_000_000n}.${String(facts.mtimeNs % 1_000_000_000n).padStart(9, '0')}`
      const mark = type === 'directory' ? `d ${owner}` : `${letter} ${facts.size} ${owner} ${time}`
      return { type, size: Number(facts.size), mark }
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(errno(error) ?? '')) return undefined
      throw error
    }
  }
  const at = (path: string): Promise<Seen | undefined> => {
    const found = known.get(path) ?? look(path)
    known.set(path, found)
    return found
  }
  return at
}

/** What the sandbox sees there. */
const seenIn = async (view: View, image: ReturnType<typeof imageAt>, path: string): Promise<Seen | undefined> => {
  const own = view.files.get(path)
  if (own) return own.type === 'gone' ? undefined : own
  for (let above = parentOf(path); above; above = parentOf(above)) {
    const directory = view.files.get(above)
    if (directory && (directory.type !== 'directory' || directory.opaque)) return undefined
  }
  return image(path)
}

const textIn = async (view: View, path: string): Promise<string | undefined> => {
  const bytes = await view.read(path, mostBytes)
  return bytes && !bytes.includes(0) ? bytes.toString('utf8') : undefined
}

const withContent = async ([before, after]: readonly [View, View], entry: DiffEntry): Promise<DiffEntry> => {
  const path = entry.path.slice(1)
  const [was, is] = [await textIn(before, path), await textIn(after, path)]
  return { ...entry, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) }
}

export const diffOf = async (views: readonly [View, View], rootfs: string, content: boolean): Promise<Diff> => {
  const [before, after] = views
  const image = imageAt(rootfs)
  const lists = { added: [] as DiffEntry[], changed: [] as DiffEntry[], removed: [] as DiffEntry[] }
  let truncated = before.truncated || after.truncated
  for (const path of [...new Set([...before.files.keys(), ...after.files.keys()])].toSorted()) {
    if (hosts.test(path)) continue
    const [was, is] = [await seenIn(before, image, path), await seenIn(after, image, path)]
    if (was?.mark === is?.mark) continue
    const list = was === undefined ? lists.added : is === undefined ? lists.removed : lists.changed
    const { size, type } = (is ?? was) as Seen
    if (list.length < mostEntries) list.push({ path: `/${path}`, size, type })
    else truncated = true
  }
  if (!content) return { ...lists, truncated }
  let left = mostContents
  const told = async (list: readonly DiffEntry[]): Promise<DiffEntry[]> => {
    const all: DiffEntry[] = []
    for (const entry of list) all.push(entry.type === 'file' && left-- > 0 ? await withContent(views, entry) : entry)
    return all
  }
  return {
    added: await told(lists.added),
    changed: await told(lists.changed),
    removed: await told(lists.removed),
    truncated: truncated || left < 0,
  }
}
