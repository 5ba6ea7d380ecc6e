/** From the words of a command line to a command, its options and what is left; everything unknown is refused. */
import { parseArgs } from 'node:util'
import { closest } from '../../shared/closest.ts'
import { misuse, type Command, type Invocation } from './command.ts'

export type Parsed =
  | { readonly kind: 'help'; readonly command: Command | undefined }
  | { readonly kind: 'version' }
  | ({ readonly kind: 'run'; readonly command: Command } & Pick<Invocation, 'options' | 'words'>)

const perhaps = (word: string, known: readonly string[]): string => {
  const near = closest(word, known)
  return near ? `; did you mean ${near}?` : ''
}

const findCommand = (name: string, commands: readonly Command[]): Command => {
  const found = commands.find(command => command.name === name)
  if (found) return found
  const names = commands.map(command => command.name)
  if (name.startsWith('-'))
    throw misuse(`unknown option ${name}${perhaps(name, ['--help', '--version'])}; see hutch --help`)
  throw misuse(`unknown command "${name}"${perhaps(name, names)}; see hutch --help`)
}

/** Throws `invalid_argument` saying what is not known, in one line. */
export const parseCommandLine = (argv: readonly string[], commands: readonly Command[]): Parsed => {
  const [first, ...rest] = argv
  if (first === undefined || first === '--help' || first === '-h') {
    if (rest.length > 0) throw misuse(`${first} takes nothing after it; see hutch --help`)
    return { kind: 'help', command: undefined }
  }
  if (first === 'help')
    return { kind: 'help', command: rest[0] === undefined ? undefined : findCommand(rest[0], commands) }
  if (first === '--version' || first === '-v') {
    if (rest.length > 0) throw misuse(`${first} takes nothing after it`)
    return { kind: 'version' }
  }
  const command = findCommand(first, commands)
  return parseRest(command, rest)
}

const parseRest = (command: Command, argv: readonly string[]): Parsed => {
  const { options: declared = {} } = command
  const known: Readonly<Record<string, { type: 'string' | 'boolean' }>> = { ...declared, help: { type: 'boolean' } }
  const { tokens } = parseArgs({ args: [...argv], options: known, strict: false, allowPositionals: true, tokens: true })
  const see = `see hutch ${command.name} --help`
  const options: Record<string, string | true> = {}
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    if (rawName === '-h') return { kind: 'help', command }
    const option = known[name]
    if (!option || !rawName.startsWith('--'))
      throw misuse(
        `unknown option ${rawName}${perhaps(
          rawName,
          Object.keys(known).map(one => `--${one}`),
        )}; ${see}`,
      )
    if (option.type === 'string' && !value) throw misuse(`${rawName} needs a value; ${see}`)
    if (option.type === 'boolean' && value !== undefined) throw misuse(`${rawName} takes no value; ${see}`)
    if (name === 'help') return { kind: 'help', command }
    options[name] = value ?? true
  }
  if (words.length > 0 && !command.words) throw misuse(`"${words[0]}" is one word too many; ${see}`)
  return { kind: 'run', command, options, words }
}
