/** `hutch`: the command line of the package. In a checkout `make` runs this file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../shared/errors.ts'
import { installation } from '../shared/installation.ts'
import { commands } from './cli/commands.ts'
import { helpOf, overview } from './cli/help.ts'
import { allSaid } from './cli/last-words.ts'
import { parseCommandLine } from './cli/parse.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)

const version = (): string => {
  const { version } = JSON.parse(readFileSync(join(installation.root, 'package.json'), 'utf8')) as { version: string }
  return `hutch ${version} (Node ${process.version})`
}

const end = (code: number): Promise<never> => allSaid([process.stdout, process.stderr]).then(() => process.exit(code))

const main = async (argv: readonly string[]): Promise<number> => {
  const parsed = parseCommandLine(argv, commands)
  if (parsed.kind === 'version') say(version())
  else if (parsed.kind === 'help') say(parsed.command ? helpOf(parsed.command) : overview(commands))
  else {
    const { command, options, words } = parsed
    return command.run({ env: process.env, cwd: process.cwd(), options, words, say })
  }
  return 0
}

// Whoever reads along may leave (`hutch run | head -1`), a terminal may close, a disk with the log be full: nothing of
// that is a reason to stop serving.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

main(process.argv.slice(2)).then(end, (error: unknown) => {
  process.stderr.write(`hutch: ${messageOf(error)}\n`)
  return end(1)
})
