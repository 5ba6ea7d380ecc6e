/** The file families of a sandbox: read, write, list, delete, trees, archives, and three ways of searching. */
import { route } from '../route.ts'
import { described, flag, integerOrNothing, s, orNull, texts } from '../schema.ts'
import { directoryShape, escapes, fileShape, successShape, treeAnswer } from './file-shapes.ts'

const path = s.object({ path: s.string() })
/** A relative path beginning with one of these would match another route. */
const extra = { reserved: ['tree'] }
const anyBody = 512 * 1024 * 1024

/** What `PUT /filesystem/{path}` takes as JSON. */
export const writeShape = described(
  s.object({
    content: orNull(s.string()),
    isDirectory: orNull(s.boolean()),
    permissions: orNull(s.string()),
  }),
  { title: 'WriteFile' },
)

export const treeShape = described(s.object({ files: orNull(texts(4096)) }), { title: 'WriteTree' })

export const readPath = route('GET /filesystem/*path', {
  id: 'filesystem.read',
  summary: 'Read a file as JSON or as bytes, or list a directory',
  params: path,
  extra,
  query: s.object({ download: flag() }),
  returns: s.union([fileShape, directoryShape]),
  // A download is of the type that the file's extension says.
  produces: ['application/octet-stream', '*/*'],
  statuses: {
    206: 'A range of the bytes',
    304: 'Not changed since the client has read it',
    412: 'Changed since the client has read it',
    416: 'A range beyond the end',
  },
  errors: ['invalid_argument', 'path_not_found', 'unprocessable', 'operation_failed'],
})

export const writePath = route('PUT /filesystem/*path', {
  id: 'filesystem.write',
  summary: 'Write a file (JSON, form or raw bytes) or make a directory',
  params: path,
  extra,
  query: s.object({ permissions: s.optional(s.string()) }),
  body: writeShape,
  accepts: 'stream',
  form: ['permissions'],
  bodyLimit: anyBody,
  returns: successShape,
  errors: ['invalid_argument', 'invalid_body', 'unprocessable'],
})

export const deletePath = route('DELETE /filesystem/*path', {
  id: 'filesystem.delete',
  summary: 'Delete a file or directory',
  params: path,
  extra,
  query: s.object({ recursive: flag() }),
  returns: successShape,
  errors: ['invalid_argument', 'path_not_found', 'unprocessable'],
})

const treeQuery = s.object({ recursive: flag() })

export const readTree = route('GET /filesystem/tree/*path', {
  id: 'filesystem.tree.read',
  summary: 'List a directory by its absolute path, or read all of it',
  params: path,
  query: s.object({ recursive: flag(), content: flag() }),
  returns: treeAnswer,
  errors: ['invalid_argument', 'unprocessable'],
})

export const writeTree = route('PUT /filesystem/tree/*path', {
  id: 'filesystem.tree.write',
  summary: 'Write several files below a directory',
  params: path,
  body: treeShape,
  bodyLimit: anyBody,
  returns: directoryShape,
  errors: ['invalid_argument', 'invalid_body', 'unprocessable'],
})

export const deleteTree = route('DELETE /filesystem/tree/*path', {
  id: 'filesystem.tree.delete',
  summary: 'Delete a directory by its absolute path',
  params: path,
  query: treeQuery,
  returns: successShape,
  errors: ['invalid_argument', 'unprocessable'],
})

export const readRootTree = route('GET /filesystem/tree', {
  id: 'filesystem.tree.root.read',
  summary: 'List the root directory, or read all of it',
  family: 'filesystem',
  query: s.object({ recursive: flag(), content: flag() }),
  returns: treeAnswer,
  errors: ['unprocessable'],
})

export const writeRootTree = route('PUT /filesystem/tree', {
  id: 'filesystem.tree.root.write',
  summary: 'Write several files below the root directory',
  family: 'filesystem',
  body: treeShape,
  bodyLimit: anyBody,
  returns: directoryShape,
  errors: ['invalid_body', 'unprocessable'],
})

export const readArchive = route('GET /filesystem-archive/*path', {
  id: 'filesystem.archive.read',
  summary: 'Download a directory (or one file) as a tar stream, gzip optional',
  params: path,
  query: s.object({ gzip: flag() }),
  produces: ['application/x-tar', 'application/gzip'],
  errors: ['invalid_argument', 'path_not_found', 'unprocessable'],
})

export const writeArchive = route('PUT /filesystem-archive/*path', {
  id: 'filesystem.archive.write',
  summary: 'Unpack a tar stream (gzip is recognised) into a directory',
  params: path,
  query: s.object({ owners: flag() }),
  accepts: 'stream',
  returns: s.extend(successShape, { entries: s.number(), bytes: s.number() }),
  errors: ['invalid_argument', 'unprocessable'],
})

// Checked where they are used, with the messages that clients know.
const maxResults = described(s.optional(s.string()), { ...integerOrNothing, minimum: 0 })
const excludeDirs = s.optional(s.string())

export const findPaths = route('GET /filesystem-find/*path', {
  id: 'filesystem.find',
  summary: 'Find files or directories by name below a directory',
  params: path,
  query: s.object({
    type: described(s.optional(s.string()), { type: 'string', enum: ['file', 'directory', ''] }),
    patterns: s.optional(s.string()),
    maxResults,
    excludeDirs,
    excludeHidden: s.optional(s.string()),
  }),
  returns: s.object({
    matches: s.array(s.object({ path: s.string(), ...escapes, type: s.string() })),
    total: s.number(),
  }),
  errors: ['invalid_argument', 'path_not_found', 'unprocessable', 'operation_failed'],
})

export const searchPaths = route('GET /filesystem-search/*path', {
  id: 'filesystem.search',
  summary: 'Find files and directories by a fuzzy match of their path',
  params: path,
  query: s.object({
    query: s.optional(s.string()),
    maxResults,
    excludeDirs,
    excludeHidden: s.optional(s.string()),
  }),
  returns: s.object({
    matches: s.array(s.object({ path: s.string(), ...escapes, score: s.number(), type: s.string() })),
    total: s.number(),
  }),
  errors: ['invalid_argument'],
})

export const searchContent = route('GET /filesystem-content-search/*path', {
  id: 'filesystem.content',
  summary: 'Find lines that contain a text',
  params: path,
  query: s.object({
    query: s.string().check(s.minLength(1, 'is required')),
    caseSensitive: flag(),
    filePattern: s.optional(s.string()),
    maxResults,
    excludeDirs,
  }),
  returns: s.object({
    query: s.string(),
    matches: s.array(
      s.object({ path: s.string(), ...escapes, line: s.number(), column: s.number(), text: s.string() }),
    ),
    total: s.number(),
  }),
  errors: ['invalid_argument', 'unprocessable'],
})
