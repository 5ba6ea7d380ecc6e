/** The files of a sandbox. Paths are absolute, or relative to its working directory. */
import { pipeline } from 'node:stream/promises'
import type { Readable, Writable } from 'node:stream'
import { buffer, json, text } from 'node:stream/consumers'
import type { Owner } from '../store/store.ts'
import type { DaemonCall } from './daemon.ts'

export interface FileEntry {
  readonly path: string
  readonly name: string
  readonly size: number
  /** Octal, without a leading zero. */
  readonly permissions: string
  readonly owner: string
  readonly group: string
  readonly lastModified: string
}

export interface Directory {
  readonly path: string
  readonly name: string
  readonly files: readonly FileEntry[]
  readonly subdirectories: readonly { readonly path: string; readonly name: string }[]
}

export interface Files {
  /** The whole file. Throws `not_found`. */
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

/** An encoded slash makes a path absolute for the daemon, so a relative one is encoded by its parts. */
const addressOf = (path: string): string =>
  `/filesystem/${path.startsWith('/') ? encodeURIComponent(path) : path.split('/').map(encodeURIComponent).join('/')}`

export const files = (ownerOf: () => Promise<Owner>, deps: { call: DaemonCall }): Files => {
  const { call } = deps
  const about = (path: string) => ({ path: addressOf(path), subject: { kind: 'file', name: path } })
  const fetch = async <T>(path: string, use: (body: Readable) => Promise<T>): Promise<T> =>
    call(await ownerOf(), { ...about(path), method: 'GET', path: `${addressOf(path)}?download=true` }, use)
  return {
    read: path => fetch(path, buffer),
    readText: path => fetch(path, text),
    download: (path, to) => fetch(path, body => pipeline(body, to)),
    async write(path, content, { permissions } = {}) {
      const query = permissions === undefined ? '' : `?permissions=${encodeURIComponent(permissions)}`
      const body = typeof content === 'string' ? Buffer.from(content) : content
      const headers = { 'content-type': 'application/octet-stream' }
      await call(await ownerOf(), { ...about(path), method: 'PUT', path: addressOf(path) + query, headers, body }, text)
    },
    async makeDirectory(path) {
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ isDirectory: true })
      await call(await ownerOf(), { ...about(path), method: 'PUT', headers, body }, text)
    },
    list: async path => (await call(await ownerOf(), { ...about(path), method: 'GET' }, json)) as Directory,
    async remove(path, { recursive = false } = {}) {
      const target = `${addressOf(path)}?recursive=${recursive}`
      await call(await ownerOf(), { ...about(path), method: 'DELETE', path: target }, text)
    },
  }
}
