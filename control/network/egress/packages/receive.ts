/** A body on its way from a registry to a sandbox, written down as it passes. Never holds anybody up: what the disk does not take in time is not kept. */
import { createHash, type Hash } from 'node:crypto'
import { createWriteStream, rmSync, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import type { Promised } from './kinds.ts'

/** Bytes that may wait for the disk. */
const mostWaiting = 8 * 1024 * 1024

export interface Body {
  /** Where it lies; the caller's to move or remove. */
  readonly file: string
  readonly digest: string
  readonly size: number
}

export interface Receiving {
  write(piece: Buffer): void
  /** All of it has come; undefined when it could not be written, is too large, or is not what was promised. */
  finish(): Promise<Body | undefined>
  drop(): void
}

interface State {
  readonly file: string
  readonly stream: WriteStream
  readonly hash: Hash
  readonly check: Hash | undefined
  size: number
  lost: boolean
}

const lose = (state: State): void => {
  if (state.lost) return
  state.lost = true
  state.stream.destroy()
  rmSync(state.file, { force: true })
}

const ended = ({ stream }: State): Promise<void> =>
  new Promise(resolve => {
    stream.once('close', () => resolve())
    stream.end()
  })

/** `name` is new in `directory`. `ended` is called once. */
export const receive = (
  directory: string,
  name: string,
  { most, promised, over }: { most: number; promised: Promised | undefined; over: () => void },
): Receiving => {
  const file = join(directory, name)
  const state: State = {
    file,
    stream: createWriteStream(file, { flags: 'wx', mode: 0o600 }),
    hash: createHash('sha256'),
    check: promised && createHash(promised.algorithm),
    size: 0,
    lost: false,
  }
  state.stream.on('error', () => lose(state))
  // Opened after it was given up: nobody else would remove it.
  state.stream.once('close', () => {
    if (state.lost) rmSync(file, { force: true })
    over()
  })
  return {
    write(piece) {
      if (state.lost) return
      state.size += piece.length
      if (state.size > most || state.stream.writableLength > mostWaiting) return lose(state)
      state.hash.update(piece)
      state.check?.update(piece)
      state.stream.write(piece)
    },
    async finish() {
      await ended(state)
      if (state.lost) return undefined
      if (state.check && state.check.digest('hex') !== promised?.value) {
        lose(state)
        return undefined
      }
      return { file, digest: state.hash.digest('hex'), size: state.size }
    },
    drop: () => lose(state),
  }
}
