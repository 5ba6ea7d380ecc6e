/**
 * Connections with TLS that are read and written by `tls-stream.c` in place of Node's own streams. The socket stays what it
 * was, also to whoever listens to it; only where its bytes come from and go to is another.
 */
import { join } from 'node:path'
import { getSystemErrorMap } from 'node:util'
import type { TLSSocket } from 'node:tls'
import type { Socket } from 'node:net'
import { nativeAddon } from '../native-addon.ts'

/** Of the addon: what it knows of one connection. */
type Stream = object

interface Addon {
  start(
    read: (this: Taken, length: number) => void,
    ended: (this: Taken, code: number) => void,
    written: (this: Taken, code: number) => void,
    plain: Buffer,
  ): boolean
  take(tcp: unknown, tls: unknown, descriptor: number, told: Taken): Stream | undefined
  give_back(stream: Stream): void
  forget(stream: Stream): void
  read_on(stream: Stream, on: boolean): void
  write_all(stream: Stream, bytes: string | Buffer, more: boolean): number
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/tls-stream.node'))

interface Handle {
  readonly fd: number
  readonly _externalStream: unknown
  readonly _parent: Handle | undefined
  reading: boolean
  readStart(): number
}

type Done = (error?: Error | null) => void

interface Chunk {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding
}

/** What a socket does for its streams; those of Node's prototypes come back when ours are deleted. */
interface Inner {
  _handle: Handle | null
  _read: () => void
  _write: (bytes: Buffer | string, encoding: BufferEncoding, done: Done) => void
  _writev: (chunks: readonly Chunk[], done: Done) => void
  _destroy: (error: Error | null, done: Done) => void
}

/** Longer text becomes bytes first. */
const textUnits = 32 * 1024 - 1

/** A connection that is ours. */
interface Taken {
  readonly socket: TLSSocket
  stream: Stream | undefined
  reads: boolean
  /** Of the write that is on its way. */
  done: Done | undefined
}

const errorOf = (call: string, code: number): Error => {
  const [name, text] = getSystemErrorMap().get(code) ?? ['UNKNOWN', 'unknown error']
  return Object.assign(new Error(`${call} ${name}: ${text}`), { code: name, errno: code, syscall: call })
}

/** What the addon has read; at least what it calls `plain_bytes`. */
const plain = Buffer.allocUnsafeSlow(112 * 1024)

function read(this: Taken, length: number): void {
  const { socket } = this
  const piece = Buffer.allocUnsafe(length)
  plain.copy(piece, 0, 0, length)
  if (socket.push(piece) || !this.stream) return
  this.reads = false
  addon().read_on(this.stream, false)
}

const eof = -4095

function ended(this: Taken, code: number): void {
  const { socket } = this
  if (code !== eof) return void socket.destroy(errorOf('read', code))
  socket.push(null)
  socket.read(0)
}

function written(this: Taken, code: number): void {
  const { done } = this
  this.done = undefined
  done?.(code < 0 ? errorOf('write', code) : null)
}

const bytesOf = (bytes: Buffer | string, encoding: BufferEncoding): Buffer | string =>
  typeof bytes !== 'string' || (encoding === 'latin1' && bytes.length <= textUnits)
    ? bytes
    : Buffer.from(bytes, encoding)

const sent = (taken: Taken, code: number, done: Done): void => {
  if (code > 0) taken.done = done
  else done(code < 0 ? errorOf('write', code) : null)
}

/** The socket as Node made it. */
const undo = (socket: TLSSocket): void => {
  const inner = socket as unknown as Partial<Inner>
  delete inner._read
  delete inner._write
  delete inner._writev
}

const redirect = (taken: Taken, stream: Stream): void => {
  const inner = taken.socket as unknown as Inner
  const { read_on: readOn, write_all: write, forget } = addon()
  const destroy = inner._destroy
  inner._read = () => {
    if (taken.reads) return
    taken.reads = true
    readOn(stream, true)
  }
  inner._write = (bytes, encoding, done) => sent(taken, write(stream, bytesOf(bytes, encoding), false), done)
  inner._writev = (chunks, done) => {
    let code = 0
    for (let at = 0; at < chunks.length && code >= 0; at++) {
      const { chunk, encoding } = chunks[at] as Chunk
      code = write(stream, bytesOf(chunk, encoding), at < chunks.length - 1)
    }
    sent(taken, code, done)
  }
  inner._destroy = function (error, done) {
    // Before Node closes what is under it.
    taken.stream = undefined
    forget(stream)
    written.call(taken, -125)
    destroy.call(this, error, done)
  }
}

/** Gives the connection back to Node: for readers that go past the socket to what is under it. */
export type GiveBack = () => void

/** Takes a connection over, in between two requests; undefined where it has to stay Node's for now. */
export type TakeTls = (socket: Socket) => GiveBack | undefined

const take: TakeTls = socket => {
  const { _handle: handle } = socket as unknown as Inner
  const parent = handle?._parent
  if (!handle || !parent || !('encrypted' in socket)) return undefined
  const taken: Taken = { socket: socket as TLSSocket, stream: undefined, reads: true, done: undefined }
  const stream = addon().take(parent._externalStream, handle._externalStream, parent.fd, taken)
  if (!stream) return undefined
  taken.stream = stream
  redirect(taken, stream)
  return () => {
    if (!taken.stream) return
    undo(taken.socket)
    addon().give_back(stream)
    if (!taken.reads) return
    handle.reading = true
    handle.readStart()
  }
}

let isStarted = false
let isAble = false

/**
 * What takes connections over; undefined where OpenSSL does not tell of its sessions. To be called before there are any: those
 * of before stay Node's. Throws when the addon was not built.
 */
export const startTlsStreams = (): TakeTls | undefined => {
  if (!isStarted) isAble = addon().start(read, ended, written, plain)
  isStarted = true
  return isAble ? take : undefined
}
