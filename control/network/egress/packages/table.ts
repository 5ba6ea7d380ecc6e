/** Which answers are on the disk, and what is done with them there. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import { parse, s, type Out } from '../../../../shared/schema.ts'

const keptShape = s.strictObject({
  key: s.string(),
  /** Of the body, SHA-256 in hexadecimal. */
  digest: s.string().check(s.regex(/^[0-9a-f]{64}$/)),
  size: s.int(),
  /** Names and values in turn. */
  headers: s.array(s.string()),
  immutable: s.boolean(),
  /** Epoch milliseconds. */
  storedAt: s.number(),
  freshUntil: s.number(),
})

export type Kept = Out<typeof keptShape>

interface Held {
  kept: Kept
  usedAt: number
}

/** An answer takes a block for itself and one for its headers at least. */
const overhead = 8_192
const largestAnswer = 64 * 1024

const hexOf = (key: string): string => createHash('sha256').update(key).digest('hex')
export const costOf = ({ size }: Kept): number => size + overhead

export interface State {
  readonly directory: string
  /** The least lately used first. */
  readonly held: Map<string, Held>
  /** How many answers have that body. */
  readonly uses: Map<string, number>
  bytes: number
}

export const pathOf = (state: State, digest: string): string => join(state.directory, 'blobs', digest)
export const answerPath = (state: State, key: string): string => join(state.directory, 'answers', `${hexOf(key)}.json`)

export const hold = (state: State, kept: Kept, usedAt: number): void => {
  state.held.set(kept.key, { kept, usedAt })
  state.uses.set(kept.digest, (state.uses.get(kept.digest) ?? 0) + 1)
  state.bytes += costOf(kept)
}

/** Takes it out of the tables; the body goes with the last answer that has it. */
const release = (state: State, { kept }: Held): void => {
  state.held.delete(kept.key)
  state.bytes -= costOf(kept)
  const left = (state.uses.get(kept.digest) ?? 1) - 1
  if (left > 0) return void state.uses.set(kept.digest, left)
  state.uses.delete(kept.digest)
  rmSync(pathOf(state, kept.digest), { force: true })
}

export const remove = (state: State, key: string): void => {
  const held = state.held.get(key)
  if (!held) return
  // The name goes first: a body without one is nobody's.
  rmSync(answerPath(state, key), { force: true })
  release(state, held)
}

/** One answer of an earlier run; undefined when it is not whole. */
const readAnswer = (state: State, name: string): Held | undefined => {
  const path = join(state.directory, 'answers', name)
  const { size, mtimeMs } = statSync(path)
  if (size > largestAnswer) return undefined
  const kept = parse(keptShape, JSON.parse(readFileSync(path, 'utf8')), 'config')
  const whole = statSync(pathOf(state, kept.digest)).size === kept.size && name === `${hexOf(kept.key)}.json`
  return whole ? { kept, usedAt: mtimeMs } : undefined
}

export const load = (state: State, log: Log): void => {
  const found: Held[] = []
  for (const name of readdirSync(join(state.directory, 'answers'))) {
    try {
      const held = readAnswer(state, name)
      if (held) {
        found.push(held)
        continue
      }
    } catch (error) {
      // Cut off, or of another version: it is fetched again.
      log.debug('egress.packages.unreadable', { name, reason: messageOf(error) })
    }
    rmSync(join(state.directory, 'answers', name), { recursive: true, force: true })
  }
  for (const { kept, usedAt } of found.toSorted((one, other) => one.usedAt - other.usedAt)) hold(state, kept, usedAt)
  for (const name of readdirSync(join(state.directory, 'blobs')))
    if (!state.uses.has(name)) rmSync(join(state.directory, 'blobs', name), { recursive: true, force: true })
}
