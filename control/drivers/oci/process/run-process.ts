/** The driver's C addon (`run-process.c`): a program of the host runs without the server being copied for it. */
import { join } from 'node:path'
import { constants } from 'node:os'
import { nativeAddon } from '../../../base/native-addon.ts'

/** What can be killed; nothing else is known of it. */
type Handle = object

interface Addon {
  start(
    file: string,
    args: readonly string[],
    env: readonly string[],
    input: string | undefined,
    capture: boolean,
    session: boolean,
    ended: (error: number, code: number, signal: number, output: string, said: string) => void,
  ): Handle | undefined
  stop(process: Handle): void
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/run-process.node'))

export interface ProcessInput {
  /** Absolute path of the program. */
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** What it reads; nothing when it is left out. */
  readonly input?: string | undefined
  /** Keeps what it writes, up to 16 MiB of each stream. */
  readonly capture: boolean
  /** Gives it a session of its own, so that signals of a terminal do not reach it. */
  readonly session: boolean
  /** Kills it. */
  readonly signal: AbortSignal
}

export interface ProcessEnd {
  /** Of a start that failed, else 0. */
  readonly errno: number
  readonly code: number
  /** Name of the signal that ended it. */
  readonly signal: string | undefined
  readonly output: string
  /** What it wrote to its standard error. */
  readonly said: string
}

const nameOf = (number: number): string | undefined =>
  number === 0 ? undefined : Object.entries(constants.signals).find(([, value]) => value === number)?.[0]

/** Resolves when it has ended, however it did. */
export const runProcess = async (wanted: ProcessInput): Promise<ProcessEnd> => {
  const { file, args, env, input, capture, session, signal } = wanted
  const { start, stop } = addon()
  const { promise, resolve } = Promise.withResolvers<ProcessEnd>()
  const words = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const handle = start(file, args, words, input, capture, session, (errno, code, number, output, said) =>
    resolve({ errno, code, signal: nameOf(number), output, said }),
  )
  const end = () => void (handle && stop(handle))
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await promise
  } finally {
    signal.removeEventListener('abort', end)
  }
}
