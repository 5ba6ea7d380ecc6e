import { AppError, errno } from './errors.ts'

/** JSON lines. `event` is a stable dotted name, fields are data; secrets are redacted by key. */
export interface Log {
  debug(event: string, fields?: object): void
  info(event: string, fields?: object): void
  warn(event: string, fields?: object): void
  error(event: string, fields?: object): void
  /** A log whose lines all carry `fields`. */
  with(fields: object): Log
}

export type Level = 'debug' | 'info' | 'warn' | 'error'
const order: readonly Level[] = ['debug', 'info', 'warn', 'error']
const secretKey = /^(authorization|proxy-authorization|cookie|token|secret|password|api[-_]?key|private[-_]?key|env)$/i

/**
 * Whether the place where an error was made says anything. It does not for failures that are expected, nor for what the
 * system refused: both are tried again and come again, and a stack each time would bury the rest of the log.
 */
const hasTellingStack = (error: Error): boolean =>
  !(error instanceof AppError) && !(errno(error) !== undefined && 'syscall' in error)

const replacer = (key: string, value: unknown): unknown => {
  if (secretKey.test(key) && value !== undefined) return '[REDACTED]'
  if (value instanceof Error)
    return {
      message: value.message,
      code: (value as { code?: unknown }).code,
      ...(hasTellingStack(value) && { stack: value.stack }),
      cause: value.cause,
    }
  if (typeof value === 'bigint') return value.toString()
  return value
}

/** Writes one line per event at or above `level` to `write`. `now` gives epoch milliseconds. */
export const jsonLog = (options: { level: Level; now: () => number; write: (line: string) => void }): Log => {
  const { level, now, write } = options
  const from = order.indexOf(level)
  const make = (bound: object): Log => {
    const line = (at: Level) =>
      order.indexOf(at) < from
        ? () => {}
        : (event: string, fields?: object) =>
            write(
              `${JSON.stringify({ t: new Date(now()).toISOString(), level: at, event, ...bound, ...fields }, replacer)}\n`,
            )
    return {
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      with: fields => make({ ...bound, ...fields }),
    }
  }
  return make({})
}

/** Says nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog }
