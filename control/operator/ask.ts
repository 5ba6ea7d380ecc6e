/** Asks the server that runs on a data directory. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fail, reported } from '../../shared/errors.ts'
import { reachHolder } from '../one-host.ts'
import { readLine, type Question } from './protocol.ts'

export interface Ask extends Pick<Question, 'verb' | 'input'> {
  /** Its real path. */
  readonly dataDir: string
  readonly say: (line: string) => void
}

/** False when no server runs on it. Throws `operation_failed` with what the server said. */
export const askServer = async ({ dataDir, verb, input, say }: Ask): Promise<boolean> => {
  const socket = await reachHolder(dataDir)
  if (!socket) return false
  const key = (await readFile(join(dataDir, 'admin-key'), 'utf8')).trim()
  socket.write(`${JSON.stringify({ key, verb, input } satisfies Question)}\n`)
  try {
    for await (const text of createInterface(socket)) {
      const line = readLine(text)
      if (line.say !== undefined) say(line.say)
      if (line.failed !== undefined) throw reported('operation_failed', line.failed)
      if (line.done) return true
    }
  } finally {
    socket.destroy()
  }
  throw fail('unavailable', { what: 'the server has ended or is about to begin', next: 'try again' })
}
