/** What the image or its user wants to run from the start: a process like any other of the API, with a name to find it by. */
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { StartProcess } from '../../shared/wire/process.ts'

const name = 'entrypoint'
/** After so many failures it stays ended: it does not fail because of something that passes. */
const maxRestarts = 5

/** A word as a shell reads it back. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** Starts it; a failure to start is only logged: the sandbox is there to look into it. */
export const startEntrypoint = (
  words: readonly string[],
  deps: { start: (request: StartProcess) => unknown; log: Log },
): void => {
  const command = `exec ${words.map(quoted).join(' ')}`
  try {
    deps.start({ name, command, restartOnFailure: true, maxRestarts })
    deps.log.info('entrypoint.started')
  } catch (error) {
    deps.log.error('entrypoint.failed', { reason: messageOf(error) })
  }
}
