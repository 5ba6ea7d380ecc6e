/** The daemon's command line. */
import { parseArgs } from 'node:util'
import { fail, messageOf } from '../../shared/errors.ts'

export interface Flags {
  readonly port: number
  /** Shell command run beside the API, or undefined. */
  readonly command: string | undefined
  /** Workload identity in Docker's USER syntax. */
  readonly user: string | undefined
  readonly telemetry: boolean
}

const options = {
  port: { type: 'string' },
  p: { type: 'string' },
  command: { type: 'string' },
  c: { type: 'string' },
  user: { type: 'string' },
  'disable-telemetry': { type: 'boolean' },
} as const

/** Existing entrypoints write `-port`: one dash is the same as two. */
const twoDashes = (argument: string): string => (/^-[a-z][a-z-]*(=|$)/i.test(argument) ? `-${argument}` : argument)

const port = (value: string, flag: string): number => {
  const parsed = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
  if (!(parsed >= 0 && parsed <= 65_535)) throw fail('invalid_argument', { field: flag, reason: 'must be a port' })
  return parsed
}

/** Parses the arguments after the program; throws `invalid_argument` for an unknown flag or a bad port. */
export const parseFlags = (argv: readonly string[]): Flags => {
  try {
    const { values } = parseArgs({ args: argv.map(twoDashes), options })
    // The short spelling wins over the long one, as in the daemon that entrypoints were written for.
    const given = values.p ?? values.port ?? '8080'
    return {
      port: port(given, values.p === undefined ? '--port' : '-p'),
      command: (values.c ?? values.command) || undefined,
      user: values.user || undefined,
      telemetry: !values['disable-telemetry'],
    }
  } catch (error) {
    if (error instanceof TypeError) throw fail('invalid_argument', { field: '', reason: messageOf(error) }, error)
    throw error
  }
}
