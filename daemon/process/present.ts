import type { Process, ProcessStatus } from '../../shared/wire/process.ts'
import type { Managed } from './managed.ts'
import { tailText } from './output/tail.ts'
import { signalName } from './outcome.ts'
import type { ProcessRecord } from './record.ts'
import { lostLine } from './room/room.ts'

/** `Wed, 04 Mar 2026 10:11:12 GMT` */
const httpDate = (ms: number): string => new Date(ms).toUTCString()

/** Output inlined in an object: the last `bytes` of each stream, or nothing yet. */
type Inline = { readonly bytes: number } | 'none'

/** On a line of its own, where people and programs look for what went wrong. */
const withLostLine = (text: string): string => `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lostLine}`

/** The last `bytes` of stdout and of stderr; what may be missing is said in the latter. */
export const bothTails = ({ record, capture }: Managed, bytes: number): [string, string] => {
  // For a finished process without output no file is opened.
  const silent = record.status !== 'running' && record.kept === 0
  const [stdout, stderr] = silent ? ['', ''] : [tailText(capture, 0, bytes), tailText(capture, 1, bytes)]
  return [stdout, record.diskWasFull ? withLostLine(stderr) : stderr]
}

/** A process that was asked to stop is shown as stopped, although that may take a while; a kill is immediate. */
export const shownStatus = ({ status, ending }: Pick<ProcessRecord, 'status' | 'ending'>): ProcessStatus =>
  status === 'running' && ending === 'stopped' ? 'stopped' : status

/** How it ended, for one that has. */
const ending = ({ status, outcome, limitMs }: ProcessRecord) => {
  if (status === 'running' || !outcome) return {}
  const { reason, signal, peakBytes, memoryBytes } = outcome
  return {
    reason,
    ...(signal !== undefined && { signal: signalName(signal) }),
    ...(reason === 'timeout' && limitMs !== undefined && { limit: { seconds: limitMs / 1000 } }),
    ...(memoryBytes !== undefined && { limit: { memoryBytes } }),
    ...(peakBytes !== undefined && { peakMemoryBytes: peakBytes }),
  }
}

/** The wire object. `unfinished` is what `completedAt` says while the process runs: existing clients expect '' or null. */
export const present = (managed: Managed, inline: Inline, unfinished: '' | null = ''): Process => {
  const { record } = managed
  const [stdout, stderr] = inline === 'none' ? ['', ''] : bothTails(managed, inline.bytes)
  return {
    pid: String(record.pid),
    name: record.name,
    command: record.command,
    status: shownStatus(record),
    startedAt: httpDate(record.startedAt),
    completedAt: record.completedAt === undefined ? unfinished : httpDate(record.completedAt),
    exitCode: record.status === 'running' ? 0 : record.exitCode,
    workingDir: record.workingDir,
    logs: inline === 'none' ? null : stdout + stderr,
    stdout,
    stderr,
    restartOnFailure: record.restartOnFailure,
    maxRestarts: record.maxRestarts,
    restartCount: record.restartCount,
    keepAlive: record.keepAlive,
    ...(record.stdin && { stdin: true }),
    ...ending(record),
    ...(record.diskWasFull && { outputIncomplete: true }),
  }
}

/** Bytes of output that one list may hold altogether: clients read it in one piece. */
const listBytes = 16 * 1024 * 1024
const minBytes = 1024
/** After reading the output of so many, a few milliseconds, other work has its turn. */
const atOnce = 64

/** All of them, each with the last `tailBytes` of its streams, or less when the list would be too large. */
export const presentAll = async (
  all: readonly Managed[],
  tailBytes: number,
  unfinished: '' | null = '',
): Promise<Process[]> => {
  const speaking = all.filter(({ record }) => record.status === 'running' || record.kept > 0).length
  const share = Math.floor(listBytes / (2 * Math.max(1, speaking)))
  const bytes = Math.min(tailBytes, Math.max(minBytes, share))
  const shown: Process[] = []
  for (const [index, managed] of all.entries()) {
    if (index > 0 && index % atOnce === 0) await new Promise<void>(resolve => setImmediate(resolve))
    shown.push(present(managed, { bytes }, unfinished))
  }
  return shown
}
