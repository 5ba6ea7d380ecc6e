/** Bodies from sockets into files, and MD5, on threads of our own (`receive.c`). */
import { constants } from 'node:os'
import { getSystemErrorMessage, getSystemErrorName } from 'node:util'
import { lazy, loadAddon } from '../load.ts'

interface ReceiveAddon {
  create(
    socket: number,
    left: number,
    ahead: Buffer,
    delimiter: Buffer | undefined,
    hashing: boolean,
    chunk: number,
    needsCrlf: boolean,
  ): object | number
  run(transfer: object, fd: number, position: number, room: number): Promise<Ended> | number
  cancel(transfer: object): void
  finish(transfer: object): { left: number; ahead: Buffer; chunk?: number; needsCrlf?: number; raw?: Buffer } | number
  written_digest(transfer: object): string
  hash(): object
  update(hash: object, piece: Buffer): boolean
  digest(hash: object): string
}

interface Ended {
  readonly outcome: number
  /** errno. */
  readonly error: number
  readonly written: number
}

/** In the order of the addon's enumeration. */
const outcomes = ['going', 'end', 'delimiter', 'full', 'file', 'socket', 'gone', 'cancelled'] as const

export interface Run {
  /** The body ended, the delimiter was found, or as much was written as there was room for. */
  readonly outcome: 'end' | 'delimiter' | 'full'
  /** Bytes. */
  readonly written: number
}

/** Where in a body of chunks (RFC 9112, section 7.1) a reader is. */
export interface ChunkPlace {
  /** Bytes of the current chunk that are still to come; 0 between two chunks. */
  readonly remaining: number
  /** The line's end that follows a chunk is still to come. */
  readonly needsCrlf: boolean
}

/** What a transfer left. */
export interface Finished {
  /** Bytes of the body that are still in the socket; of a body in chunks 0 after its end, else 1. */
  readonly left: number
  /** Bytes of the body that were read from the socket and not written. */
  readonly ahead: Buffer
  /** Of a body in chunks: where the reader is, and what it has read from there on and not decoded. */
  readonly chunk?: ChunkPlace & { readonly raw: Buffer }
}

export interface Transfer {
  /**
   * Writes at most `room` bytes at `position`; the next run continues after the last byte written. `fd` must stay open
   * until it ends. Throws the system's errors of the file (`syscall: 'write'`), `ECONNRESET` when the client is gone,
   * `ECANCELED` after `cancel`.
   */
  run(fd: number, position: number, room: number): Promise<Run>
  /** Makes the current run, if any, end soon. */
  cancel(): void
  /** Closes our copy of the socket, once and after the last run. */
  finish(): Finished
  /** MD5 of what was written as 32 hex digits, if `hashing` was set. Must not be called during a run. */
  digest(): string
}

/** What is to be moved. */
export interface Body {
  /** A descriptor that nobody else reads from meanwhile; it is duplicated. */
  readonly socket: number
  /** Bytes of the body that are still in the socket, at least one; 1 of a body in chunks. */
  readonly left: number
  /** Where in its chunks the body goes on; undefined: it has a length. */
  readonly chunk?: ChunkPlace | undefined
  /** Bytes of the body that were read already: they come first. */
  readonly ahead: Buffer
  /** The delimiter that ends the content within the body. */
  readonly delimiter: Buffer | undefined
  readonly hashing: boolean
}

const addon = lazy(() => loadAddon<ReceiveAddon>('receive'))

/** As node:fs words it. */
const failure = (errno: number, syscall: string): NodeJS.ErrnoException => {
  const code = getSystemErrorName(-errno)
  const message = `${code}: ${getSystemErrorMessage(-errno)}, ${syscall}`
  return Object.assign(new Error(message), { code, errno: -errno, syscall })
}

const { ECONNRESET, ECANCELED } = constants.errno

const runOf = ({ outcome, error, written }: Ended): Run => {
  const name = outcomes[outcome]
  switch (name) {
    case 'end':
    case 'delimiter':
    case 'full':
      return { outcome: name, written }
    case 'file':
      throw failure(error, 'write')
    case 'cancelled':
      throw failure(ECANCELED, 'read')
    default:
      throw failure(error || ECONNRESET, 'read')
  }
}

/** A transfer, or undefined when the system has no more descriptors or threads. */
export const transfer = ({ socket, left, chunk, ahead, delimiter, hashing }: Body): Transfer | undefined => {
  const native = addon()
  const { remaining, needsCrlf } = chunk ?? { remaining: -1, needsCrlf: false }
  const made = native.create(socket, left, ahead, delimiter, hashing, remaining, needsCrlf)
  if (typeof made === 'number') return undefined
  return {
    async run(fd, position, room) {
      const running = native.run(made, fd, position, Math.min(room, Number.MAX_SAFE_INTEGER))
      if (typeof running === 'number') throw failure(-running, 'receive')
      return runOf(await running)
    },
    cancel: () => native.cancel(made),
    finish() {
      const finished = native.finish(made)
      if (typeof finished === 'number') throw failure(-finished, 'receive')
      const { left, ahead, chunk: remaining, needsCrlf, raw } = finished
      if (remaining === undefined || raw === undefined) return { left, ahead }
      return { left, ahead, chunk: { remaining, needsCrlf: needsCrlf === 1, raw } }
    },
    digest: () => native.written_digest(made),
  }
}

interface Md5 {
  update(piece: Buffer): void
  /** 32 hex digits; call it once, after the last piece. */
  digest(): string
}

/** MD5 on the calling thread, for small content and content that does not come from a socket. */
export const md5 = (): Md5 => {
  const native = addon()
  const hash = native.hash()
  return {
    update: piece => void native.update(hash, piece),
    digest: () => native.digest(hash),
  }
}
