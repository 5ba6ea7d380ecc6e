/** Asks the server that runs on a data directory. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fail, reported } from '../../../shared/errors.ts'
import { reachHolder } from '../../base/one-host.ts'
import { readLine, type Question } from './protocol.ts'

export interface Ask extends Pick<Question, 'verb' | 'input'> {
  /** Its real path. */
  readonly dataDir: string
  readonly say: (line: string) => void
}

const ended = (cause?: unknown) =>
  fail('unavailable', { what: 'the server has ended or is about to begin', next: 'try again' }, cause)

/** Its lines until it hangs up; throws `unavailable` when it breaks. Whatever happens to the socket from now on is told there. */
const linesOf = (socket: Socket): AsyncIterableIterator<string> => {
  // Not when the first line is wanted: what broke before would be told to nobody, and waited for without end.
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  return (async function* () {
    try {
      yield* lines
    } catch (error) {
      throw ended(error)
    }
  })()
}

/** False when no server runs on it. Throws `operation_failed` with what the server said, and `unavailable` when it ends meanwhile. */
export const askServer = async ({ dataDir, verb, input, say }: Ask): Promise<boolean> => {
  const socket = await reachHolder(dataDir)
  if (!socket) return false
  const lines = linesOf(socket)
  try {
    const key = (await readFile(join(dataDir, 'admin-key'), 'utf8')).trim()
    socket.write(`${JSON.stringify({ key, verb, input } satisfies Question)}\n`)
    for await (const text of lines) {
      const line = readLine(text)
      if (line.say !== undefined) say(line.say)
      if (line.failed !== undefined) throw reported('operation_failed', line.failed)
      if (line.done) return true
    }
  } finally {
    socket.destroy()
  }
  throw ended()
}
