/** What builds say, a file for each record: of its last build, up to a bound, to be followed while it is written. */
import { createReadStream } from 'node:fs'
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errno } from '../../../shared/errors.ts'

export interface BuildLog {
  /** Appends; what is more than the bound is left out. Never throws. */
  say(text: string): void
  /** Resolves when all that was said is written. */
  close(): Promise<void>
}

export interface BuildLogs {
  /** Begins anew. */
  begin(uid: string): Promise<BuildLog>
  /** Writes what there is, and with `follow` what comes until the build ends. */
  read(uid: string, to: Writable, options: { readonly follow: boolean; readonly signal: AbortSignal }): Promise<void>
  /** Whether a build writes to it. */
  isOpen(uid: string): boolean
  remove(uid: string): Promise<void>
}

/** Bytes of one log. */
const most = 8 * 1024 * 1024
const cut = '\n… the rest of the output is left out\n'

interface Open {
  /** Said, and written of it. */
  bytes: number
  written: number
  readonly followers: Set<() => void>
  isOver: boolean
}

/** What takes in the output of one build; `over` is called when all of it is written. */
const writer = (
  file: string,
  state: Open,
  { note, over }: { note: (error: unknown) => void; over: () => void },
): BuildLog => {
  let writing = Promise.resolve()
  const tell = () => state.followers.forEach(follower => follower())
  const append = (text: string): void => {
    writing = writing
      .then(() => appendFile(file, text))
      .then(() => {
        state.written += Buffer.byteLength(text)
        tell()
      })
      .catch(note)
  }
  return {
    say(text) {
      if (state.bytes >= most) return
      state.bytes += Buffer.byteLength(text)
      append(state.bytes < most ? text : `${text.slice(0, Math.max(0, text.length - (state.bytes - most)))}${cut}`)
    },
    async close() {
      await writing
      state.isOver = true
      over()
      tell()
    },
  }
}

/** Resolves when there may be more to read, or the signal is aborted. */
const untilTold = (state: Open, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    const wake = () => {
      state.followers.delete(wake)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    state.followers.add(wake)
    signal.addEventListener('abort', wake, { once: true })
  })

/** Copies the bytes of a file from `from` on; resolves with where they end. */
const copy = async (file: string, from: number, to: Writable, signal: AbortSignal): Promise<number> => {
  let at = from
  const stream = createReadStream(file, { start: from, end: most + cut.length })
  stream.on('data', piece => (at += piece.length))
  try {
    await pipeline(stream, to, { end: false, signal })
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error
  }
  return at
}

export const buildLogs = async (directory: string, note: (error: unknown) => void): Promise<BuildLogs> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = (uid: string) => join(directory, `${uid}.log`)
  const opened = new Map<string, Open>()
  return {
    async begin(uid) {
      await writeFile(path(uid), '', { mode: 0o600 })
      const state: Open = { bytes: 0, written: 0, followers: new Set(), isOver: false }
      opened.set(uid, state)
      const over = () => void (opened.get(uid) === state && opened.delete(uid))
      return writer(path(uid), state, { note, over })
    },
    async read(uid, to, { follow, signal }) {
      const state = opened.get(uid)
      let at = await copy(path(uid), 0, to, signal)
      while (follow && state && !signal.aborted) {
        const isLast = state.isOver
        at = await copy(path(uid), at, to, signal)
        if (isLast) return
        if (!state.isOver && state.written <= at) await untilTold(state, signal)
      }
    },
    isOpen: uid => opened.has(uid),
    async remove(uid) {
      await rm(path(uid), { force: true })
    },
  }
}
