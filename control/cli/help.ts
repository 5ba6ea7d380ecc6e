import type { Command } from './command.ts'

const columns = (rows: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

const usageOf = ({ name, words, options }: Command): string =>
  ['hutch', name, ...(words ? [words] : []), ...(options ? ['[options]'] : [])].join(' ')

/** The list of commands. */
export const overview = (commands: readonly Command[]): string =>
  [
    'hutch: a self-hosted home for AI agents on one Linux box',
    '',
    'usage: hutch <command>',
    '',
    ...columns(commands.map(({ name, words = '', summary }) => [`${name} ${words}`.trim(), summary])),
    '',
    ...columns([
      ['--help', 'this; hutch <command> --help says more'],
      ['--version', 'the version of Hutch and of Node'],
    ]),
    '',
  ].join('\n')

/** What one command takes. */
export const helpOf = (command: Command): string => {
  const options = Object.entries(command.options ?? {}).map(
    ([name, { value, help }]) => [`--${name}${value ? ` ${value}` : ''}`, help] as const,
  )
  return [
    `usage: ${usageOf(command)}`,
    '',
    command.summary,
    ...(options.length > 0 ? ['', ...columns(options)] : []),
    ...(command.help ? ['', ...command.help] : []),
    '',
  ].join('\n')
}
