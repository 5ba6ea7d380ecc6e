/**
 * What the command line says to a server that runs on the same data directory, over the socket by which it holds it. A line of JSON each
 * way: the key of the directory and what is wanted; then what happens, and how it ended. Whoever hangs up has it stopped.
 */
import { parse, s, type Out } from '../../../shared/schema.ts'

const question = s.object({ key: s.string(), verb: s.string(), input: s.looseObject({}) })
export type Question = Out<typeof question>

const line = s.object({
  say: s.optional(s.string()),
  /** The last line. */
  done: s.optional(s.literal(true)),
  failed: s.optional(s.string()),
})
export type Line = Out<typeof line>

export const readQuestion = (text: string): Question => parse(question, JSON.parse(text), 'config')
export const readLine = (text: string): Line => parse(line, JSON.parse(text), 'config')
