/** The daemon's command line, in the syntax of Go's flag package: existing entrypoints use it. */
import { isIP } from 'node:net'
import { fail } from '../../shared/errors.ts'

export interface Flags {
  readonly port: number
  /** IP address to listen on; undefined for all of them. */
  readonly host: string | undefined
  /** Shell command run beside the API, or undefined. */
  readonly command: string | undefined
  /** Workload identity in Docker's USER syntax. */
  readonly user: string | undefined
  readonly telemetry: boolean
}

const defaultPort = 8080
const texts = ['port', 'p', 'host', 'command', 'c', 'user'] as const
const switches = ['disable-telemetry'] as const

type Given = Partial<Record<string, string>>

const known = (name: string): boolean => [...texts, ...switches].includes(name as never)

/** `-name value`, `-name=value`, one dash or two; a value may begin with a dash, and the last of several counts. */
const read = (argv: readonly string[]): Given => {
  const given: Given = {}
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] as string
    const match = /^--?([^-=][^=]*)(?:=([^]*))?$/.exec(argument)
    if (!match) throw fail('invalid_argument', { field: argument, reason: 'is no flag' })
    const [, name = '', value] = match
    if (!known(name)) throw fail('invalid_argument', { field: `-${name}`, reason: 'is not a flag of this program' })
    if (switches.includes(name as never)) given[name] = value ?? 'true'
    else {
      const text = value ?? argv[++index]
      if (text === undefined) throw fail('invalid_argument', { field: `-${name}`, reason: 'needs a value' })
      given[name] = text
    }
  }
  return given
}

const portOf = (value: string | undefined, flag: string): number => {
  if (value === undefined) return defaultPort
  const parsed = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
  if (!(parsed >= 0 && parsed <= 65_535)) throw fail('invalid_argument', { field: flag, reason: 'must be a port' })
  return parsed
}

const hostOf = (value: string | undefined): string | undefined => {
  if (!value) return undefined
  if (isIP(value) === 0) throw fail('invalid_argument', { field: '-host', reason: 'must be an IP address' })
  return value
}

const switchOf = (value: string | undefined, flag: string): boolean => {
  if (value === undefined || /^(0|f|false)$/i.test(value)) return false
  if (/^(1|t|true)$/i.test(value)) return true
  throw fail('invalid_argument', { field: flag, reason: 'must be true or false' })
}

/** Parses the arguments after the program; throws `invalid_argument` for an unknown flag or a bad value. */
export const parseFlags = (argv: readonly string[]): Flags => {
  const given = read(argv)
  const short = portOf(given['p'], '-p')
  const long = portOf(given['port'], '-port')
  return {
    // The short flag wins over the long one, unless it gives the default.
    port: short === defaultPort ? long : short,
    host: hostOf(given['host']),
    command: given['c'] || given['command'] || undefined,
    user: given['user'] || undefined,
    telemetry: !switchOf(given['disable-telemetry'], '-disable-telemetry'),
  }
}
