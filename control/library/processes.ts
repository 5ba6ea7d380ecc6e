/** Processes that go on by themselves, as the per-sandbox API has them. A process is known by its name or its pid. */
import type { In } from '../../shared/schema.ts'
import {
  closeStdin,
  getProcess,
  killProcess,
  listProcesses,
  processLogs,
  startProcess,
  stopProcess,
  streamProcessLogs,
  writeStdin,
  type Process,
  type ProcessEvent,
  type StartProcess,
} from '../../shared/wire/process.ts'
import type { Owner } from '../core/store/store.ts'
import type { DaemonCall, DaemonEvents } from './daemon.ts'

export type StartOptions = In<typeof StartProcess>

export interface FollowOptions {
  /** Byte offset to begin at; 0 unless given, the first output that is kept. */
  readonly cursor?: number
  /** Aborting ends the loop with the signal's reason; the process goes on. */
  readonly signal?: AbortSignal
}

export interface Processes {
  /** Starts a command and resolves at once, or when its ports listen, or when it ended, as `options` ask for. */
  start(options: StartOptions): Promise<Process>
  /** Finished ones included. */
  list(): Promise<Process[]>
  /** Throws `not_found`, as all that follow do. */
  get(process: string): Promise<Process>
  /** What it has written, at most the last 4 MiB of each stream. */
  logs(process: string): Promise<{ stdout: string; stderr: string; logs: string }>
  /** Its output as it is written, and its end as an event `result`. */
  follow(process: string, options?: FollowOptions): AsyncIterable<ProcessEvent>
  /** To one that was started with `stdin`. */
  write(process: string, input: string | Uint8Array): Promise<void>
  /** It reads the end of its input. */
  closeInput(process: string): Promise<void>
  /** SIGTERM, to its children too. */
  stop(process: string): Promise<void>
  /** SIGKILL. */
  kill(process: string): Promise<void>
}

export const processes = (
  ownerOf: () => Promise<Owner>,
  deps: { call: DaemonCall; events: DaemonEvents },
): Processes => {
  const { call, events } = deps
  const params = (identifier: string) => ({ params: { identifier } })
  return {
    start: async body => call(await ownerOf(), daemon => daemon.ask(startProcess, { body })),
    list: async () => call(await ownerOf(), daemon => daemon.ask(listProcesses)),
    get: async process => call(await ownerOf(), daemon => daemon.ask(getProcess, params(process))),
    logs: async process => call(await ownerOf(), daemon => daemon.ask(processLogs, params(process))),
    async *follow(process, { cursor = 0, signal } = {}) {
      const asked = { ...params(process), query: { stream: 'events' as const, cursor } }
      const options = signal ? { signal } : {}
      yield* events(await ownerOf(), daemon => daemon.events(streamProcessLogs, asked, options), signal)
    },
    async write(process, body) {
      await call(await ownerOf(), daemon => daemon.ask(writeStdin, { ...params(process), body }))
    },
    async closeInput(process) {
      await call(await ownerOf(), daemon => daemon.ask(closeStdin, params(process)))
    },
    async stop(process) {
      await call(await ownerOf(), daemon => daemon.ask(stopProcess, params(process)))
    },
    async kill(process) {
      await call(await ownerOf(), daemon => daemon.ask(killProcess, params(process)))
    },
  }
}
