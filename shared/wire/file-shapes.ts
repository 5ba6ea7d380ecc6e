/** How files, directories and trees are answered. */
import { described, s, type Out } from '../schema.ts'

export const successShape = described(s.object({ path: s.string(), message: s.string() }), { title: 'Success' })

/** The name as written in an address; only for names that are not UTF-8, which `name` cannot show. */
const escapedName = s.optional(s.string())

/** For paths of which a part is not UTF-8: the last part, if it is that one, and the whole, as they are written in an address. */
export const escapes = { escapedName, escapedPath: s.optional(s.string()) }

export const fileEntryShape = described(
  s.object({
    path: s.string(),
    name: s.string(),
    escapedName,
    permissions: s.string(),
    size: s.number(),
    lastModified: s.string(),
    owner: s.string(),
    group: s.string(),
  }),
  { title: 'FileEntry' },
)

export const fileShape = described(s.extend(fileEntryShape, { content: s.string() }), { title: 'File' })

export const directoryShape = described(
  s.object({
    path: s.string(),
    name: s.string(),
    files: s.array(fileEntryShape),
    subdirectories: s.array(s.object({ path: s.string(), name: s.string(), escapedName })),
  }),
  { title: 'Directory' },
)

/** Why something is not all there: the bounds of one answer, or it cannot be read. */
const truncated = s.optional(s.enum(['bytes', 'entries', 'depth', 'unreadable']))

const treeFileShape = described(s.extend(fileEntryShape, { content: s.optional(s.string()), truncated }), {
  title: 'TreeFile',
})
export type TreeFile = Out<typeof treeFileShape>

/** A directory of a tree. One below the first level of a plain listing has neither `files` nor `subdirectories`. */
export interface TreeDirectory {
  path: string
  name: string
  escapedName?: string | undefined
  truncated?: Out<typeof truncated>
  files?: TreeFile[]
  subdirectories?: TreeDirectory[]
}

const treeDirectoryShape = described(
  s.object({
    path: s.string(),
    name: s.string(),
    escapedName,
    truncated,
    files: s.optional(s.array(treeFileShape)),
    subdirectories: described(s.optional(s.array(s.custom<TreeDirectory>())), {
      type: 'array',
      items: { $ref: '#/components/schemas/TreeDirectory' },
    }),
  }),
  { title: 'TreeDirectory' },
)

export const treeAnswer = described(
  s.object({
    path: s.string(),
    name: s.string(),
    truncated,
    files: s.array(treeFileShape),
    subdirectories: s.array(treeDirectoryShape),
  }),
  { title: 'Tree' },
)
