import type { Out } from '../../shared/schema.ts'
import { watchFilesystem, type WatchEvent } from '../../shared/wire/watch.ts'
import type { Owner } from '../core/store/store.ts'
import type { DaemonEvents } from './daemon.ts'

export type FileChange = Out<typeof WatchEvent>

export interface WatchOptions {
  /** Names that are left out, separated by commas. */
  readonly ignore?: string
  /** Aborting ends the loop with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Changes below a directory of a sandbox, of the whole tree when `path` ends in `/**`; leaving the loop ends it. */
export async function* watch(
  ownerOf: () => Promise<Owner>,
  [path, { ignore, signal }]: readonly [string, WatchOptions],
  events: DaemonEvents,
): AsyncIterable<FileChange> {
  const asked = { params: { path }, query: { ignore } }
  const options = signal ? { signal } : {}
  yield* events(await ownerOf(), daemon => daemon.events(watchFilesystem, asked, options), signal)
}
