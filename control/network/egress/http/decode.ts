/** Takes the coding off a body, within bounds: what comes out is looked at and kept nowhere. */
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'

interface Coding {
  /** Bytes of memory it takes, about: its window above all. */
  readonly room: number
  make(): Transform
}

const options = { rejectGarbageAfterEnd: true } as const
const mebi = 1024 * 1024
/** A window of 8 MB is what RFC 9659 has decoders of zstd take, and more than they need not. */
const zstdWindow = { params: { [constants.ZSTD_d_windowLogMax]: 23 } }
const gzip: Coding = { room: mebi / 16, make: () => createGunzip(options) }

const known = new Map<string, Coding>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', { room: mebi / 16, make: () => createInflate(options) }],
  ['br', { room: 16 * mebi, make: () => createBrotliDecompress(options) }],
  ['zstd', { room: 8 * mebi, make: () => createZstdDecompress({ ...options, ...zstdWindow }) }],
])

/** So much comes out of any body, and of a longer one so many times what goes in. */
const freeBytes = 32 * mebi
const maxRatio = 16

export interface Decoding {
  /** Bytes of memory that it takes. */
  readonly room: number
  begin(to: DecodingTo): Decoder
}

export interface DecodingTo {
  piece(bytes: Buffer): void
  /** After each piece: false to have none until `goOn` is called. */
  mayGoOn(goOn: () => void): boolean
  /** Not to be read to its end: nothing more comes out. At most once. */
  gaveUp(why: string): void
}

export interface Decoder {
  /** Calls `done` when all that comes out of the piece has been given out, or never will be. */
  write(piece: Buffer, done: () => void): void
  /** Calls `done` when all has come out. */
  end(done: () => void): void
  destroy(): void
}

const begin = (stream: Transform, { piece, mayGoOn, gaveUp }: DecodingTo): Decoder => {
  let taken = 0
  let made = 0
  let isOver = false
  /** Who waits: a stream that fails never says that it has taken what it got. */
  let waiting = () => {}
  const settle = () => {
    const run = waiting
    waiting = () => {}
    run()
  }
  const finish = (why?: string) => {
    if (isOver) return
    isOver = true
    stream.destroy()
    if (why !== undefined) gaveUp(why)
    settle()
  }
  /** What was written last has been taken: what came out of it may still lie in the stream, which rests. */
  let isTaken = false
  const settleLookedAt = () => {
    if (!isTaken || stream.readableLength > 0 || stream.isPaused()) return
    isTaken = false
    settle()
  }
  const goOn = () => {
    stream.resume()
    settleLookedAt()
  }
  stream.on('data', (bytes: Buffer) => {
    if (isOver) return
    made += bytes.length
    if (made > freeBytes + maxRatio * taken) return finish('its decoded text is too long')
    piece(bytes)
    if (!mayGoOn(goOn)) stream.pause()
    settleLookedAt()
  })
  stream.once('end', () => finish())
  stream.on('error', () => finish('it does not decode'))
  return {
    write(bytes, done) {
      if (isOver) return done()
      taken += bytes.length
      waiting = done
      stream.write(bytes, () => {
        isTaken = true
        settleLookedAt()
      })
    },
    end(done) {
      if (isOver) return done()
      waiting = done
      stream.end()
    },
    destroy: () => finish(),
  }
}

/** How to take off these codings; undefined where that is not known here, or they are several. */
export const decodingOf = ([name = '', ...more]: readonly string[]): Decoding | undefined => {
  const coding = more.length > 0 ? undefined : known.get(name)
  return coding && { room: coding.room, begin: to => begin(coding.make(), to) }
}
