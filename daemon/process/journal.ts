import { join } from 'node:path'
import type { Log } from '../../shared/log.ts'
import { s } from '../../shared/schema.ts'
import { endReasons, processStatuses } from '../../shared/wire/process.ts'
import { readOwnFile } from '../own-files/own-files.ts'
import type { Seal } from '../own-files/seal.ts'
import { appendingFile } from './appending-file.ts'
import type { ProcessRecord } from './record.ts'

/** Ten thousand processes are some tens of MiB; a larger journal is not the daemon's. */
const maxBytes = 256 * 1024 * 1024

/**
 * All processes in a file: one line per change, written before the change is answered. A daemon that is killed at any
 * moment loses at most half of the last line.
 */
export interface Journal {
  /** Appends the record as it is now. */
  put(record: ProcessRecord): void
  /** Appends that a record was removed. */
  forget(record: ProcessRecord): void
  close(): void
}

const optional = s.optional(s.number())
// As process groups 0 and 1 would mean everybody.
const pid = s.int().check(s.minimum(2))
const fileStem = s.string().check(s.regex(/^[^/.\0][^/\0]*$/))
const Line = s.object({
  pid,
  name: s.string(),
  command: s.string(),
  workingDir: s.string(),
  env: s.record(s.string(), s.string()),
  restartOnFailure: s.boolean(),
  maxRestarts: s.int(),
  stdin: s.boolean(),
  id: s.int(),
  logKey: fileStem,
  status: s.enum(processStatuses),
  startedAt: s.number(),
  completedAt: optional,
  exitCode: s.int(),
  restartCount: s.int(),
  keepAlive: s.boolean(),
  deadline: optional,
  current: s.optional(s.object({ pid, startTicks: s.string(), bootId: s.string() })),
  kept: s.number(),
  limitMs: optional,
  timedOut: s.optional(s.boolean()),
  outcome: s.optional(
    s.object({
      reason: s.enum(endReasons),
      signal: s.optional(s.int()),
      peakBytes: optional,
      memoryBytes: optional,
    }),
  ),
  diskWasFull: s.optional(s.boolean()),
  ending: s.optional(s.enum(['stopped', 'killed'])),
})
const Forgotten = s.object({ forget: s.int() })

/** The records of a journal, oldest first; lines that are damaged or not the daemon's are counted, not trusted. */
export const parseJournal = (text: string, seal: Seal): { records: ProcessRecord[]; damaged: number } => {
  const records = new Map<number, ProcessRecord>()
  let damaged = 0
  for (const line of text.split('\n')) {
    if (line === '') continue
    if (!seal.holds(line)) {
      damaged++
      continue
    }
    try {
      const value: unknown = JSON.parse(line)
      const forgotten = Forgotten.safeParse(value)
      if (forgotten.success) records.delete(forgotten.data.forget)
      else {
        const record = Line.parse(value) as ProcessRecord
        records.set(record.id, record)
      }
    } catch {
      // Half a line: the daemon was killed while it wrote.
      damaged++
    }
  }
  return { records: [...records.values()], damaged }
}

/** Opens the journal in `dir` and reads it. `live` gives the records when the file is rewritten. */
export const openJournal = (deps: {
  dir: string
  /** Nothing is written: the file is another daemon's. */
  readOnly: boolean
  log: Log
  seal: Seal
  live: () => readonly ProcessRecord[]
}): { journal: Journal; records: ProcessRecord[] } => {
  const { dir, readOnly, log, seal, live } = deps
  const path = join(dir, 'processes.jsonl')
  const refused = (reason: string): void => log.warn('process.journal.refused', { path, reason })
  const { records, damaged } = parseJournal(readOwnFile(path, maxBytes, refused), seal)
  if (damaged > 0) log.warn('process.journal.damaged', { lines: damaged })
  const lineOf = (value: ProcessRecord | { forget: number }): string => `${seal.close(JSON.stringify(value))}\n`
  const file = appendingFile(path, () => live().map(lineOf), log)
  if (!readOnly) file.open(records.map(lineOf))
  return {
    records,
    journal: {
      put: record => file.append(lineOf(record)),
      forget: record => file.append(lineOf({ forget: record.id })),
      close: file.close,
    },
  }
}
