/**
 * Archives of GNU tar, one behind the other in a file: each part is written by a tar of its own, and `--ignore-zeros` reads them as one.
 * Whatever a sandbox can make of its files is kept: owners by number, every attribute, holes, links, devices.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errno, fail } from '../../../shared/errors.ts'
import { listen, type Said } from './said.ts'

const everything = ['--xattrs', '--xattrs-include=*', '--acls', '--numeric-owner', '--sparse']
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

interface Tar {
  readonly step: string
  readonly args: readonly string[]
  /** The file it writes, and the path it is fed. */
  readonly into?: number
  readonly from?: string
  readonly signal?: AbortSignal | undefined
  /** 1 is "some files were different from what was expected". */
  readonly accepted?: readonly number[]
  /** Lines that a tar which ends with 2 may have said, all of them; else it failed. */
  readonly passable?: RegExp
  /** Lines that are counted. */
  readonly wanted?: RegExp
}

/** Of a tar that ends before its input does, its own words say more. */
const hungUp = (error: unknown): void => {
  if (errno(error) !== 'EPIPE' && errno(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
}

/** Resolves with what tar said. Throws with that: `busy` when something changed or went while it was read, else `operation_failed`. */
const tar = async ({ step, args, into, from, signal, accepted = [0], ...lines }: Tar): Promise<Said> => {
  signal?.throwIfAborted()
  const child = spawn('tar', args, {
    stdio: [from ? 'pipe' : 'ignore', into ?? 'ignore', 'pipe'],
    env: environment,
    detached: true,
  })
  const stop = () => void child.kill('SIGKILL')
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const [said, [code]] = await Promise.all([
      listen(child.stderr as Readable, lines),
      once(child, 'close') as Promise<[number | null]>,
      // Through this process: a tar whose restore was killed does not go on.
      from && pipeline(createReadStream(from), child.stdin as Writable).catch(hungUp),
    ])
    signal?.throwIfAborted()
    if (code !== null && (accepted.includes(code) || (code === 2 && said.isPassable))) return said
    const reason = `${step}: ${said.end.slice(-1_000) || `tar ended with ${code}`}`
    throw code === 1 ? fail('busy', { what: reason, next: 'try again' }) : fail('operation_failed', { reason })
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

export interface Part {
  readonly step: string
  /** Names below `directory`. */
  readonly directory: string
  readonly names: readonly string[]
  /** Files may change or go while they are copied. */
  readonly live?: boolean
}

/** Adds a part to a file that is open for appending; when that fails, the file is as it was. Throws `busy` when what it copies changed. */
export const appendPart = async (file: FileHandle, part: Part, signal?: AbortSignal): Promise<void> => {
  const { step, directory, names, live = false } = part
  const { size } = await file.stat()
  try {
    await tar({
      step,
      args: ['--create', '--file=-', '--format=posix', ...everything, '--directory', directory, '--', ...names],
      into: file.fd,
      signal,
      accepted: live ? [0, 1] : [0],
    })
  } catch (error) {
    await file.truncate(size)
    throw error
  }
}

/** Deeper than a path can be long, tar goes where it packs, and cannot when it unpacks: one sandbox must not cost all others. */
const tooDeep = /: File name too long$|^tar: Exiting with failure status due to previous errors$/

/** What had to be left out of an archive: how much of it, and what tar said of the first. */
export interface LeftOut {
  readonly count: number
  readonly first: string | undefined
}

/** Unpacks all parts into a directory. */
export const unpack = async (path: string, directory: string): Promise<LeftOut> => {
  const { found, first } = await tar({
    step: 'unpack',
    from: path,
    passable: tooDeep,
    wanted: /: File name too long$/,
    args: [
      '--extract',
      '--file=-',
      '--ignore-zeros',
      '--same-owner',
      '--same-permissions',
      '--delay-directory-restore',
      ...everything,
      '--directory',
      directory,
    ],
  })
  return { count: found, first }
}
