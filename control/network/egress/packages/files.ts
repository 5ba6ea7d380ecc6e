/**
 * Answers of registries on the disk: bodies by their digest, and beside them what was said with each, by the digest of its key.
 *
 *     blobs/<sha256>           a body, written to new/ first and renamed when it is whole
 *     answers/<sha256>.json    key, digest and headers, written and renamed the same way, after its body
 *
 * A kill at any moment leaves either none of an answer, or all of it, or a body that nobody names, which the next start removes. What
 * was longest not used goes first when there is no more room.
 */
import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../../shared/clock.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import { answerPath, costOf, hold, load, pathOf, remove, type Kept, type State } from './table.ts'

const touchedAgainMs = 60_000
/** Each is remembered in memory, with its key and headers. */
const maxAnswers = 50_000
const maxRemembered = 8_192

export interface PackageFiles {
  /** Where bodies that are still coming are written. */
  readonly incoming: string
  find(key: string): Kept | undefined
  /** Where the body is. */
  pathOf(digest: string): string
  /** Takes a body that is whole over from `file`, and names it. Makes room first; false when there can be none. */
  add(kept: Kept, file: string): boolean
  /** The registry has said that it still holds. */
  renew(kept: Kept, freshUntil: number): void
  /** It was used now. */
  touch(kept: Kept): void
  remove(key: string): void
  readonly bytes: number
}

interface Limits {
  readonly maxBytes: number
  readonly maxAnswers: number
}

const makeRoom = (state: State, size: number, { maxBytes, maxAnswers: most }: Limits): boolean => {
  if (size > maxBytes) return false
  for (const [key] of state.held) {
    if (state.bytes + size <= maxBytes && state.held.size < most) return true
    remove(state, key)
  }
  return state.bytes + size <= maxBytes
}

/** Characters that are held in memory for it. */
const rememberedOf = ({ key, headers }: Kept): number => headers.reduce((sum, text) => sum + text.length, key.length)

/** Opens the directory, made when it is not there. Of what an earlier run left, what is whole is kept. */
export const openPackageFiles = (
  directory: string,
  maxBytes: number,
  deps: { log: Log; ids: Ids; clock: Clock; maxAnswers?: number },
): PackageFiles => {
  const limits = { maxBytes, maxAnswers: deps.maxAnswers ?? maxAnswers }
  const { log, ids, clock } = deps
  const state: State = { directory, held: new Map(), uses: new Map(), bytes: 0 }
  const incoming = join(directory, 'new')
  rmSync(incoming, { recursive: true, force: true })
  for (const each of ['blobs', 'answers', 'new']) mkdirSync(join(directory, each), { recursive: true, mode: 0o700 })
  load(state, log)
  makeRoom(state, 0, limits)
  const writeAnswer = (kept: Kept): void => {
    const beside = join(incoming, `${ids.short(16)}.json`)
    writeFileSync(beside, JSON.stringify(kept), { mode: 0o600 })
    renameSync(beside, answerPath(state, kept.key))
  }
  return {
    incoming,
    find: key => state.held.get(key)?.kept,
    pathOf: digest => pathOf(state, digest),
    add(kept, file) {
      remove(state, kept.key)
      if (rememberedOf(kept) > maxRemembered || !makeRoom(state, costOf(kept), limits)) return false
      renameSync(file, pathOf(state, kept.digest))
      writeAnswer(kept)
      hold(state, kept, clock.now())
      return true
    },
    renew(kept, freshUntil) {
      const held = state.held.get(kept.key)
      if (held?.kept !== kept) return
      held.kept = { ...kept, freshUntil }
      writeAnswer(held.kept)
    },
    touch(kept) {
      const held = state.held.get(kept.key)
      if (!held) return
      state.held.delete(kept.key)
      state.held.set(kept.key, held)
      const now = clock.now()
      if (now - held.usedAt < touchedAgainMs) return
      held.usedAt = now
      utimesSync(answerPath(state, kept.key), now / 1000, now / 1000)
    },
    remove: key => remove(state, key),
    get bytes() {
      return state.bytes
    },
  }
}
