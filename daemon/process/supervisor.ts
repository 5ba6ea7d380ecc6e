import { join } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import { isFull } from '../../shared/system-reason.ts'
import type { StartProcess } from '../../shared/wire/process.ts'
import type { Reaper } from '../init/reaper.ts'
import { makeDirectory, makePrivateDirectory } from '../own-files/own-files.ts'
import { noSeal, type Seal } from '../own-files/seal.ts'
import { adopt, showOnly, type InheritedPipe } from './adopt.ts'
import { cancelRestartPause, signalGroup } from './ending.ts'
import { readBootId } from './pid-identity.ts'
import { openJournal } from './journal.ts'
import type { Managed } from './managed.ts'
import { createMemoryKills } from './memory-kills.ts'
import { createScratch } from './output/render.ts'
import { createOutputFilePools } from './output/file-pool.ts'
import { createTailing } from './output/tailing.ts'
import type { ProcessContext, ProcessConfig } from './context.ts'
import type { KeepAwake } from './keep-awake.ts'
import type { Workload } from './spawn.ts'
import { createRoom } from './room/room.ts'
import { outputDirs, start, type StartOptions } from './start.ts'
import { catchUp, createSweep } from './sweep.ts'
import { createTable } from './table.ts'

const sweepMs = 5_000
/** Where a sandbox sees its own control groups. */
const cgroupDir = '/sys/fs/cgroup'
/** A process that obeys has ended by then; one that does not must not delay the answer. */
const obeyMs = 250
const signals = { stopped: 15, killed: 9 } as const

interface SupervisorDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly reaper: Reaper
  readonly workload: Workload
  readonly keepAwake: Pick<KeepAwake, 'hold'>
  /** Pipes that came over an exec of the daemon. */
  readonly pipes?: readonly InheritedPipe[]
  /** Of the journal. */
  readonly seal?: Seal
}

export interface Supervisor {
  /** Throws `invalid_argument` or `unprocessable`; then nothing was started. */
  start(request: StartProcess, options?: StartOptions): Managed
  list(): Managed[]
  /** By pid or name. Throws `not_found`. */
  find(identifier: string): Managed
  /** Signals the group and gives it a moment to end. Throws `not_found` when it does not run. */
  end(identifier: string, how: 'stopped' | 'killed'): Promise<void>
  /** None of them is started again after its end; `signal` is sent to those that run. */
  letGo(how: { signal: number | undefined }): void
  /** Pipes that the next daemon needs: they can only be inherited. */
  pipes(): { id: number; fd: number }[]
  /** Releases everything; the processes live on. */
  close(): void
}

const endProcess = async (context: ProcessContext, managed: Managed, how: 'stopped' | 'killed'): Promise<void> => {
  const { record } = managed
  if (record.status !== 'running') throw fail('not_found', { kind: 'running process', name: record.name })
  if (record.ending !== 'killed') record.ending = how
  context.journal.put(record)
  for (const notice of managed.notices) notice(`[Process ${how === 'killed' ? 'is being killed' : 'is being stopped'}]`)
  if (record.current === undefined) return cancelRestartPause(context, managed)
  if (!signalGroup(managed, signals[how])) throw fail('not_found', { kind: 'running process', name: record.name })
  const done = new AbortController()
  await Promise.race([managed.finished, context.clock.sleep(obeyMs, done.signal).catch(() => undefined)])
  done.abort()
}

const letGo = (context: ProcessContext, signal: number | undefined): void => {
  for (const managed of context.table.all()) {
    const { record } = managed
    if (record.status !== 'running') continue
    record.ending ??= 'stopped'
    context.journal.put(record)
    if (record.current === undefined) cancelRestartPause(context, managed)
    else if (signal !== undefined) signalGroup(managed, signal)
  }
}

const makeDirectories = (config: ProcessConfig, log: Log): void => {
  try {
    // Its content decides which processes the daemon signals.
    makePrivateDirectory(config.stateDir)
    makePrivateDirectory(join(config.stateDir, 'output'))
    makeDirectory(config.logDir, 0o755)
  } catch (error) {
    // Without a daemon nobody could make room. They are made when they are needed.
    if (!isFull(error)) throw error
    log.error('process.directories.failed', { error })
  }
}

/** Follows the processes in the journal. Call it in the turn of the event loop in which the reaper is made. */
export const createSupervisor = (config: ProcessConfig, deps: SupervisorDeps): Supervisor => {
  const { clock, ids, log, reaper, workload, keepAwake, pipes = [], seal = noSeal } = deps
  makeDirectories(config, log)
  const table = createTable()
  const { stateDir: dir, rehearsal: readOnly } = config
  const { journal, records } = openJournal({ dir, readOnly, log, seal, live: table.records })
  const sweep = createSweep(() => context)
  const context: ProcessContext = {
    config,
    clock,
    ids,
    log,
    reaper,
    workload,
    journal,
    table,
    cap: sweep.cap,
    tailing: createTailing({ clock, log, grew: sweep.grew }),
    scratch: createScratch(),
    pools: createOutputFilePools(outputDirs({ config }), clock),
    keepAwake,
    memoryKills: createMemoryKills({ dir: cgroupDir, clock }),
    bootId: readBootId(),
    room: createRoom(config.stateDir),
  }
  if (config.rehearsal) showOnly(context, records)
  else adopt(context, records, pipes)
  const stopSweep = config.rehearsal
    ? () => undefined
    : clock.every(sweepMs, () => {
        context.memoryKills.look()
        sweep.run()
      })
  return {
    start: (request, options) => start(context, request, options),
    list: () => Array.from(table.all(), managed => catchUp(managed, log)),
    find: identifier => catchUp(table.find(identifier), log),
    end: (identifier, how) => endProcess(context, table.find(identifier), how),
    letGo: ({ signal }) => letGo(context, signal),
    pipes: () =>
      [...table.all()].flatMap(({ record, stdin }) => (stdin?.open ? [{ id: record.id, fd: stdin.fd }] : [])),
    close() {
      stopSweep()
      sweep.close()
      context.tailing.close()
      context.pools.close()
      for (const managed of table.all()) {
        managed.cancelDeadline()
        managed.cancelRestart()
        managed.cancelWatch()
        managed.close()
      }
      journal.close()
    },
  }
}
