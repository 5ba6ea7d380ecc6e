/** What `svc.toml` says of a build, and the variables of `.env.build`. */
import { parse as parseToml } from 'smol-toml'
import { fail, messageOf } from '../../../../shared/errors.ts'
import { parse, s } from '../../../../shared/schema.ts'

const words = s.record(s.string(), s.union([s.string(), s.number(), s.boolean()]))

const shape = s.looseObject({
  build: s.optional(s.looseObject({ args: s.optional(words) })),
  entrypoint: s.optional(s.looseObject({ prod: s.optional(s.string()) })),
})

export interface BuildSettings {
  /** Build arguments. */
  readonly args: Readonly<Record<string, string>>
  /** The command that starts what is built without a Dockerfile. */
  readonly start: string | undefined
}

const refuse = (file: string, reason: string, cause?: unknown) =>
  fail('unprocessable', { reason: `${file}: ${reason}` }, cause)

/** A TOML file of the archive. Throws `unprocessable` naming it. */
export const readToml = (file: string, text: string): unknown => {
  try {
    return parseToml(text)
  } catch (error) {
    throw refuse(file, messageOf(error).split('\n')[0] ?? 'is no TOML', error)
  }
}

const argument = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** Throws `unprocessable` naming the member that is wrong. */
export const settingsOf = (file: string, text: string | undefined): BuildSettings => {
  if (text === undefined) return { args: {}, start: undefined }
  const value = readToml(file, text)
  try {
    const { build, entrypoint } = parse(shape, value, 'config')
    const args = Object.entries(build?.args ?? {}).map(([name, one]) => [name, String(one)] as const)
    const [wrong] = args.find(([name]) => !argument.test(name)) ?? []
    if (wrong !== undefined) throw refuse(file, `build.args.${wrong.slice(0, 80)} is no name of a build argument`)
    return { args: Object.fromEntries(args), start: entrypoint?.prod }
  } catch (error) {
    const said = messageOf(error)
    throw said.startsWith(file) ? error : refuse(file, said, error)
  }
}

const line = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/
const quotes = /^(['"])(.*)\1$/s

/** `NAME=value` lines, values with or without quotes; `#` begins a comment. Throws `unprocessable` naming the line. */
export const variablesIn = (file: string, text: string): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const [at, given] of text.split(/\r?\n/).entries()) {
    if (given.trim() === '' || given.trimStart().startsWith('#')) continue
    const [, name, value = ''] = line.exec(given) ?? []
    if (name === undefined) throw refuse(file, `line ${at + 1} is not NAME=value`)
    found[name] = quotes.exec(value)?.[2] ?? value
  }
  return found
}
