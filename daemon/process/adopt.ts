/** Takes over the processes of the previous daemon. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { kill } from '../native/sys/sys.ts'
import { ended, scheduleRestart } from './ending.ts'
import { isSame } from './pid-identity.ts'
import { createManaged, type Managed } from './managed.ts'
import { openCapture, type Capture } from './output/capture.ts'
import { outputPaths } from './output/names.ts'
import type { ProcessContext } from './context.ts'
import type { ProcessRecord } from './record.ts'
import { outputDirs, reopener, track } from './start.ts'
import { inheritedStdin } from './stdin.ts'

/**
 * The writing end of a stdin pipe that was kept over the exec, by record id. It comes from the old daemon itself, never
 * from a file.
 */
export interface InheritedPipe {
  readonly id: number
  readonly fd: number
  readonly inode: number
}

const resume = (context: ProcessContext, managed: Managed, pipes: readonly InheritedPipe[]): void => {
  const { record } = managed
  const pipe = pipes.find(({ id }) => id === record.id)
  if (pipe) managed.stdin = inheritedStdin(pipe.fd, pipe.inode)
  const { current } = record
  if (current && isSame(current, context.bootId)) {
    track(context, managed)
    return
  }
  // It has ended, or its pid belongs to another process now: nothing is watched or signalled.
  record.current = undefined
  track(context, managed)
  if (current === undefined && record.ending === undefined) scheduleRestart(context, managed)
  // Nobody knows whether it failed, so it is not restarted.
  else ended(context, managed, { exitCode: null, signal: null }, false)
}

/** A finished process, whose children may still run and write. */
const finished = (record: ProcessRecord, reopen: () => Capture): Managed => {
  const managed = createManaged(record, reopen)
  // The group of a restarted process is not known any more. If the group is a stranger's, looking costs little.
  if (record.restartCount === 0 && kill(-record.pid, 0)) managed.lingering = record.pid
  return managed
}

const adoptOne = (context: ProcessContext, record: ProcessRecord, pipes: readonly InheritedPipe[]): void => {
  const reopen = reopener(context, record)
  if (record.status !== 'running') return context.table.add(finished(record, reopen))
  const paths = outputPaths(outputDirs(context), record.logKey)
  const capture = openCapture({ paths, fresh: false, ended: false, scratch: context.scratch })
  resume(context, createManaged(record, reopen, capture), pipes)
}

/** Positions that belong to no record: left by a daemon that was killed between two steps. */
const tidy = (context: ProcessContext, records: readonly ProcessRecord[]): void => {
  const { positionsDir } = outputDirs(context)
  const known = new Set(records.map(({ logKey }) => logKey))
  // A directory is none of the daemon's.
  for (const entry of readdirSync(positionsDir, { withFileTypes: true }))
    if (!known.has(entry.name) && !entry.isDirectory()) rmSync(join(positionsDir, entry.name), { force: true })
}

/** Lists what the journal knows, and leaves the processes to the daemon that is in charge. */
export const showOnly = (context: ProcessContext, records: readonly ProcessRecord[]): void => {
  for (const record of records) {
    context.table.add(createManaged(record, reopener(context, record)))
  }
}

/**
 * Takes over the processes in the journal: running ones are followed, restarted and killed at their deadline as before.
 * Must run in the same turn of the event loop in which the reaper was made, so that no exit code is lost.
 */
export const adopt = (
  context: ProcessContext,
  records: readonly ProcessRecord[],
  pipes: readonly InheritedPipe[],
): void => {
  tidy(context, records)
  for (const record of records) {
    try {
      adoptOne(context, record, pipes)
    } catch (error) {
      context.log.error('process.adopt.failed', { name: record.name, pid: record.pid, error })
    }
  }
}
