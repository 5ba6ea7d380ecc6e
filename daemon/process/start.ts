import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { fail } from '../../shared/errors.ts'
import { reasonOf } from '../../shared/system-reason.ts'
import type { StartProcess } from '../../shared/wire/process.ts'
import { makeDirectory, makePrivateDirectory } from '../own-files/own-files.ts'
import { armDeadline, watchEnd } from './ending.ts'
import { launchCaptured } from './launch.ts'
import { runningPid } from './pid-identity.ts'
import { createManaged, type Managed } from './managed.ts'
import { openCapture, type Capture } from './output/capture.ts'
import { isGone } from './output/files.ts'
import { checkName, logKey, outputPaths } from './output/names.ts'
import type { ProcessContext } from './context.ts'
import type { ProcessRecord } from './record.ts'

const defaultKeepAliveSeconds = 600

/** Where files of captures are. */
export const outputDirs = ({ config }: Pick<ProcessContext, 'config'>) => ({
  logDir: config.logDir,
  positionsDir: `${config.stateDir}/output`,
})

/** The directory as asked for (shown in errors) and as used. */
const directories = (
  context: ProcessContext,
  given: string | null | undefined,
): { givenDir: string; workingDir: string } => {
  const { config, workload } = context
  if (!given) {
    // An image may name a directory that it does not have, and a tenant may remove it.
    const cwd = existsSync(config.cwd) ? config.cwd : '/'
    return { givenDir: cwd, workingDir: cwd }
  }
  let dir = given.replace(/\/{2,}/g, '/')
  if (dir.startsWith('~')) {
    const home = workload.identity()?.home ?? workload.environment.get('HOME')
    if (!home) throw fail('invalid_argument', { field: 'workingDir', reason: 'begins with ~ but HOME is not set' })
    dir = `${home}${dir.slice(1)}`
  }
  return { givenDir: dir, workingDir: posix.resolve(config.cwd, dir) }
}

/** Seconds after which the process is killed, or undefined: never. */
const killAfter = ({ keepAlive, timeout }: StartProcess): number | undefined => {
  if (!keepAlive || timeout === 0) return undefined
  return timeout === undefined || timeout === null || timeout < 0 ? defaultKeepAliveSeconds : timeout
}

/** Chooses the name. That of a process that has ended may be used again; the files of its output are then renamed. */
const takeName = (context: ProcessContext, wanted: string | null | undefined, shared: boolean): string => {
  const { table, ids, journal } = context
  if (!wanted) {
    let name = `proc-${ids.short(8)}`
    while (table.byName(name)) name = `proc-${ids.short(8)}`
    return name
  }
  checkName(wanted)
  const before = table.byName(wanted)
  if (!before) return wanted
  const { record, capture } = before
  // A process that was asked to end gives up its name at once, however long it takes to end.
  if (record.status === 'running' && !record.ending && !shared)
    throw fail('invalid_argument', { field: 'name', reason: `process "${wanted}" already exists and is running` })
  if (record.logKey === logKey(wanted)) {
    record.logKey = `${record.logKey}~${record.id}`
    capture.move(outputPaths(outputDirs(context), record.logKey))
    journal.put(record)
  }
  return wanted
}

/** Opens the output of a process that has ended, even if its files were renamed. */
export const reopener = (context: ProcessContext, record: ProcessRecord) => (): Capture =>
  openCapture({
    paths: outputPaths(outputDirs(context), record.logKey),
    fresh: false,
    ended: true,
    scratch: context.scratch,
  })

const newCapture = (context: ProcessContext, key: string): Capture => {
  const { scratch, pools, workload } = context
  const group = workload.identity()?.gid
  const paths = outputPaths(outputDirs(context), key)
  const open = (): Capture => openCapture({ paths, fresh: true, ended: false, scratch, pools, group })
  try {
    try {
      return open()
    } catch (error) {
      if (!isGone(error)) throw error
      // The tenant removed or replaced the directory of the logs, or the disk was full when the daemon started.
      makePrivateDirectory(outputDirs(context).positionsDir)
      makeDirectory(context.config.logDir, 0o755)
      return open()
    }
  } catch (error) {
    throw fail('unprocessable', { reason: `failed to start process: log files: ${reasonOf(error)}` }, error)
  }
}

export interface StartOptions {
  /** The name may be that of a running process, which is then found by its pid only. */
  readonly sharedName?: boolean
}

/** The record of a process that was just started. */
const newRecord = (
  { table, clock, bootId, room }: ProcessContext,
  request: StartProcess,
  started: { pid: number; name: string; workingDir: string },
): ProcessRecord => {
  const now = clock.now()
  const seconds = killAfter(request)
  return {
    id: table.nextId(),
    pid: started.pid,
    name: started.name,
    command: request.command,
    workingDir: started.workingDir,
    env: request.env ?? {},
    restartOnFailure: request.restartOnFailure ?? false,
    maxRestarts: request.maxRestarts ?? 0,
    stdin: request.stdin ?? false,
    logKey: logKey(started.name),
    status: 'running',
    startedAt: now,
    completedAt: undefined,
    exitCode: 0,
    restartCount: 0,
    keepAlive: request.keepAlive ?? false,
    deadline: seconds === undefined ? undefined : now + seconds * 1000,
    limitMs: seconds === undefined ? undefined : seconds * 1000,
    current: runningPid(started.pid, bootId),
    ending: undefined,
    kept: 0,
    diskWasFull: room.isGone() || undefined,
  }
}

/** Throws when this daemon must not start the process. */
const checkAllowed = ({ config }: ProcessContext, request: StartProcess): void => {
  if (config.rehearsal)
    throw fail('unprocessable', { reason: 'failed to start process: this daemon only rehearses an upgrade' })
  if (request.keepAlive && !config.keepAlive)
    throw fail('invalid_argument', { field: 'keepAlive', reason: 'keepAlive is not available in this sandbox' })
}

/**
 * Starts a process; it is in the table and in the journal when this returns. Throws `invalid_argument` for a request
 * that is wrong and `unprocessable` when the process cannot be started; then nothing has changed.
 */
export const start = (
  context: ProcessContext,
  request: StartProcess,
  { sharedName = false }: StartOptions = {},
): Managed => {
  checkAllowed(context, request)
  const { givenDir, workingDir } = directories(context, request.workingDir)
  const name = takeName(context, request.name, sharedName)
  const capture = newCapture(context, logKey(name))
  let launched: ReturnType<typeof launchCaptured>
  try {
    launched = launchCaptured(context.workload, capture, {
      command: request.command,
      workingDir,
      givenDir,
      env: request.env ?? {},
      pipeStdin: request.stdin ?? false,
    })
  } catch (error) {
    capture.remove()
    throw error
  }
  const record = newRecord(context, request, { pid: launched.pid, name, workingDir })
  const managed = createManaged(record, reopener(context, record), capture)
  managed.stdin = launched.stdin
  track(context, managed)
  context.journal.put(record)
  return managed
}

/** Begins to follow a running process: at its start, and when a later daemon takes it over. */
export const track = (context: ProcessContext, managed: Managed): void => {
  const { record, capture } = managed
  context.table.add(managed)
  if (record.keepAlive) managed.release = context.keepAwake.hold()
  armDeadline(context, managed)
  context.tailing.add(capture, outputPaths(outputDirs(context), record.logKey).streams)
  watchEnd(context, managed)
}
