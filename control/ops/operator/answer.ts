/** Does what the command line asks of a server. */
import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { hashKey } from '../../core/access/keys.ts'
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { readQuestion, type Line } from './protocol.ts'

/** Something a server does for who has its data directory. Throws what went wrong. */
export type OperatorVerb = (
  input: Readonly<Record<string, unknown>>,
  on: { readonly say: (line: string) => void; readonly signal: AbortSignal },
) => Promise<void>

export interface AnswerDeps {
  /** In the data directory, for those who may read it: anybody in this network namespace can connect. */
  readonly adminKey: string
  readonly verbs: Readonly<Record<string, OperatorVerb>>
  readonly log: Log
}

/** Bytes of a question, and how long one may take to ask it, ms. */
const bounds = { bytes: 16 * 1024, ms: 5_000 }

const isKey = (given: string, wanted: string): boolean =>
  timingSafeEqual(Buffer.from(hashKey(given)), Buffer.from(hashKey(wanted)))

const reply = async ({ adminKey, verbs, log }: AnswerDeps, socket: Socket, text: string): Promise<void> => {
  const write = (line: Line) => void socket.write(`${JSON.stringify(line)}\n`)
  const gone = new AbortController()
  socket.once('close', () => gone.abort(new Error('nobody waits for it any more')))
  try {
    const { key, verb, input } = readQuestion(text)
    if (!isKey(key, adminKey)) return write({ failed: 'this is not the admin key of the data directory' })
    const run = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
    if (!run) return write({ failed: `the server knows no "${verb}"; it may be of another version` })
    await run(input, { say: say => write({ say }), signal: gone.signal })
    write({ done: true })
  } catch (error) {
    if (!isError(error) && !gone.signal.aborted) log.error('operator.failed', { error })
    write({ failed: messageOf(error) })
  }
}

/** For each connection. One question each. */
export const answerOperators =
  (deps: AnswerDeps) =>
  (socket: Socket): void => {
    socket.on('error', () => socket.destroy())
    socket.setTimeout(bounds.ms, () => socket.destroy())
    let read = 0
    const count = (piece: Buffer) => {
      read += piece.length
      if (read > bounds.bytes) socket.destroy()
    }
    socket.on('data', count)
    createInterface(socket).once('line', line => {
      socket.setTimeout(0)
      void reply(deps, socket, line).finally(() => socket.end())
    })
  }
