/** The files of a sandbox. Paths are absolute, or relative to its working directory. */
import { pipeline } from 'node:stream/promises'
import type { Readable, Writable } from 'node:stream'
import { fail, isError } from '../../shared/errors.ts'
import type { Streamed } from '../../shared/http/client/calls.ts'
import type { Client } from '../../shared/http/client/index.ts'
import type { Out } from '../../shared/schema.ts'
import { deletePath, readPath, writePath } from '../../shared/wire/filesystem.ts'
import { type directoryShape, type fileEntryShape } from '../../shared/wire/file-shapes.ts'
import type { Owner } from '../core/store/store.ts'
import type { DaemonCall } from './daemon.ts'

export type FileEntry = Out<typeof fileEntryShape>
export type Directory = Out<typeof directoryShape>

export interface Files {
  /** The whole file, at most 512 MiB. Throws `not_found`. */
  read(path: string): Promise<Buffer>
  readText(path: string): Promise<string>
  /** Streams the file; the sandbox stays awake until it is through. */
  download(path: string, to: Writable): Promise<void>
  /** Writes the file, making directories on the way. `permissions` is octal, `644` unless given. */
  write(path: string, content: string | Uint8Array | Readable, options?: { permissions?: string }): Promise<void>
  makeDirectory(path: string): Promise<void>
  list(path: string): Promise<Directory>
  /** Throws `not_found`, or `unprocessable` for a directory that is not empty unless `recursive`. */
  remove(path: string, options?: { recursive?: boolean }): Promise<void>
}

/** A larger file is downloaded. */
const maxReadBytes = 512 * 1024 * 1024

export const files = (ownerOf: () => Promise<Owner>, deps: { call: DaemonCall }): Files => {
  const on = async <T>(path: string, use: (daemon: Client) => Promise<T>): Promise<T> => {
    const owner = await ownerOf()
    return deps.call(owner, daemon =>
      use(daemon).catch(error => {
        throw isError(error, 'path_not_found') ? fail('not_found', { kind: 'file', name: path }, error) : error
      }),
    )
  }
  const open = (daemon: Client, path: string): Promise<Streamed> =>
    daemon.stream(readPath, { params: { path }, query: { download: true } })
  const read = (path: string) => on(path, async daemon => (await open(daemon, path)).bytes(maxReadBytes))
  return {
    read,
    readText: async path => (await read(path)).toString(),
    download: (path, to) => on(path, async daemon => pipeline(await open(daemon, path), to)),
    async write(path, content, { permissions } = {}) {
      await on(path, daemon => daemon.ask(writePath, { params: { path }, query: { permissions }, body: content }))
    },
    async makeDirectory(path) {
      await on(path, daemon => daemon.ask(writePath, { params: { path }, body: { isDirectory: true } }))
    },
    list: path =>
      on(path, async daemon => {
        const found = await daemon.ask(readPath, { params: { path } })
        if ('files' in found) return found
        throw fail('invalid_argument', { field: 'path', reason: `${path} is a file` })
      }),
    async remove(path, { recursive = false } = {}) {
      await on(path, daemon => daemon.ask(deletePath, { params: { path }, query: { recursive } }))
    },
  }
}
