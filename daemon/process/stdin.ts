import { closeSync, fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { errno } from '../../shared/errors.ts'
import { makePipe } from '../native/descriptors/descriptors.ts'

/** The writing end of a process's standard input. */
export interface Stdin {
  readonly fd: number
  readonly open: boolean
  /**
   * Writes all of `source`, no faster than the process reads. When it resolves everything is in the pipe, which
   * outlives the daemon. Throws `EPIPE` when the process reads no more.
   */
  write(source: Readable | Buffer, signal: AbortSignal): Promise<void>
  /** The process reads end of file after what was written before. */
  end(): void
}

const gone = (cause: unknown) =>
  Object.assign(new Error('EPIPE: nobody reads this input any more', { cause }), { code: 'EPIPE' })

/** Resolves when the pipe has all of it: bytes that wait in this process would be lost by an upgrade. */
const into = (pipe: Socket, bytes: Buffer, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason as Error)
    signal.addEventListener('abort', aborted, { once: true })
    pipe.write(bytes, error => {
      signal.removeEventListener('abort', aborted)
      if (error) reject(error)
      else resolve()
    })
  })

/** Takes over the writing end `fd` of a pipe. */
const stdinOf = (fd: number): Stdin => {
  const pipe = new Socket({ fd, readable: false, writable: true })
  let broken: unknown
  let queue: Promise<unknown> = Promise.resolve()
  // This writer and every later one fail with EPIPE.
  pipe.on('error', error => {
    broken = error
  })
  const one = async (bytes: Buffer, signal: AbortSignal): Promise<void> => {
    if (broken !== undefined || !pipe.writable) throw gone(broken)
    try {
      await into(pipe, bytes, signal)
    } catch (error) {
      if (signal.aborted) throw error
      throw gone(error)
    }
  }
  return {
    fd,
    get open() {
      return pipe.writable && broken === undefined
    },
    write(source, signal) {
      // Callers take turns: the bytes of two must not mix.
      const turn = queue.then(async () => {
        if (broken !== undefined || !pipe.writable) throw gone(broken)
        if (Buffer.isBuffer(source)) await one(source, signal)
        else for await (const piece of source) await one(piece as Buffer, signal)
        // One more turn of the loop: a pipe whose reader is gone says so right after the write.
        await new Promise<void>(resolve => setImmediate(resolve))
        if (broken !== undefined) throw gone(broken)
      })
      queue = turn.catch(() => undefined)
      return turn
    },
    end() {
      pipe.end()
    },
  }
}

export const newStdin = (): { childEnd: number; stdin: Stdin } => {
  const { read, write } = makePipe()
  return { childEnd: read, stdin: stdinOf(write) }
}

/** The writing end that an earlier daemon left open over its exec, if `fd` still is that pipe. */
export const inheritedStdin = (fd: number, inode: number): Stdin | undefined => {
  try {
    const stat = fstatSync(fd)
    if (!stat.isFIFO() || stat.ino !== inode) return undefined
    return stdinOf(fd)
  } catch (error) {
    if (errno(error) === 'EBADF') return undefined
    throw error
  }
}

export const closeEnd = (fd: number): void => closeSync(fd)
