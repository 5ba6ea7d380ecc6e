/**
 * Decisions of each record in files of its own, one line each: the newest in one, those before in another, so that there are
 * never more than twice as many as are shown. What cannot be written is said in the log and lost.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Kept, KeptLines } from '../egress/events/kept.ts'

export interface EventFiles {
  of(uid: string): Kept
  remove(uid: string): void
  /** Removes those of all others. */
  keepOnly(uids: ReadonlySet<string>): void
}

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (errno(error) === 'ENOENT') return ''
    throw error
  }
}

/** A line that was cut when the server was killed is left out. */
const parsed = (line: string): unknown[] => {
  try {
    return [JSON.parse(line) as unknown]
  } catch {
    return []
  }
}

const linesOf = (text: string): string[] => text.split('\n').filter(Boolean)

const lines = (file: string, most: number, { log, state }: { log: Log; state: { isGone: boolean } }): KeptLines => {
  let count: number | undefined
  let failed = false
  const load = (): unknown[] => {
    const newest = linesOf(read(file))
    return [...linesOf(read(`${file}.old`)), ...newest].flatMap(parsed).slice(-most)
  }
  const append = (values: readonly object[]): void => {
    const before = count === undefined ? read(file) : ''
    count ??= linesOf(before).length
    if (count >= most) {
      renameSync(file, `${file}.old`)
      count = 0
    }
    // What was cut short by a kill ends here.
    const start = before === '' || before.endsWith('\n') ? '' : '\n'
    appendFileSync(file, start + values.map(value => `${JSON.stringify(value)}\n`).join(''), { mode: 0o600 })
    count += values.length
    failed = false
  }
  const orElse = <T>(task: () => T, instead: T): T => {
    try {
      return task()
    } catch (error) {
      if (!failed) log.error('outbound.events.unkept', { file, error, next: 'make room on the disk' })
      failed = true
      return instead
    }
  }
  return {
    load: () => orElse(load, []),
    // What was still under way when its record went is nobody's.
    append: values => state.isGone || orElse(() => append(values), undefined),
  }
}

/** `limits`: how many events, and how many hosts of a record, are shown of each. */
export const openEventFiles = (
  directory: string,
  limits: { events: number; seen: number },
  { log }: { log: Log },
): EventFiles => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const states = new Map<string, { isGone: boolean }>()
  const remove = (uid: string): void => {
    const state = states.get(uid)
    if (state) state.isGone = true
    states.delete(uid)
    for (const end of ['events', 'events.old', 'seen', 'seen.old'])
      rmSync(join(directory, `${uid}.${end}`), { force: true })
  }
  return {
    of(uid) {
      const state = states.get(uid) ?? { isGone: false }
      states.set(uid, state)
      return {
        events: lines(join(directory, `${uid}.events`), limits.events, { log, state }),
        seen: lines(join(directory, `${uid}.seen`), limits.seen, { log, state }),
      }
    },
    remove,
    keepOnly(uids) {
      const owners = new Set(readdirSync(directory).map(name => name.split('.')[0] as string))
      for (const uid of owners) if (!uids.has(uid)) remove(uid)
    },
  }
}
