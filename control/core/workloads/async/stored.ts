/** Calls that are answered before they are made, on disk: `<id>.json` says how far one is, `<id>.body` is what was sent. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import { parse, s, type Out } from '../../../../shared/schema.ts'
import { syncDirectory, writeDurably } from '../../../base/durable.ts'

const answer = s.object({
  status: s.int(),
  /** The beginning of it, as text. */
  body: s.string(),
  /** Bytes of all of it. */
  length: s.int(),
})
export type Answer = Out<typeof answer>

const shape = s.object({
  id: s.string(),
  owner: s.object({ uid: s.string(), kind: s.string(), workspace: s.string(), name: s.string() }),
  method: s.string(),
  target: s.string(),
  /** Names and values in turn, as the server gets them. */
  headers: s.array(s.string()),
  timeoutMs: s.int(),
  callback: s.optional(
    s.object({
      url: s.string(),
      /** Sealed. */
      secret: s.string(),
      /** Attempts after the first one. */
      retry: s.int(),
    }),
  ),
  /** `waiting` for a machine; `begun`: a server has it; `answered`: its callback is to be made. */
  phase: s.enum(['waiting', 'begun', 'answered']),
  answer: s.optional(answer),
  /** Of its callback. */
  attempts: s.int(),
})
export type StoredCall = Out<typeof shape>

export interface CallStore {
  /** A new one; when it resolves, it survives a power cut. */
  add(call: StoredCall, body: Buffer): Promise<void>
  update(call: StoredCall): Promise<void>
  body(id: string): Promise<Buffer>
  remove(id: string): Promise<void>
  /** Those of an earlier server. One that cannot be read is logged and left alone. */
  all(): Promise<StoredCall[]>
}

export const openCallStore = async (dir: string, { ids, log }: { ids: Ids; log: Log }): Promise<CallStore> => {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const head = (id: string): string => join(dir, `${id}.json`)
  const bodyOf = (id: string): string => join(dir, `${id}.body`)
  const update = (call: StoredCall): Promise<void> => writeDurably(head(call.id), JSON.stringify(call), ids)
  return {
    update,
    async add(call, body) {
      await writeFile(bodyOf(call.id), body, { mode: 0o600, flush: true })
      await update(call)
    },
    body: id => readFile(bodyOf(id)),
    async remove(id) {
      await rm(head(id), { force: true })
      await syncDirectory(dir)
      await rm(bodyOf(id), { force: true })
    },
    async all() {
      const names = await readdir(dir)
      const calls: StoredCall[] = []
      for (const name of names.filter(one => one.endsWith('.json') && !one.startsWith('.')))
        try {
          calls.push(parse(shape, JSON.parse(await readFile(join(dir, name), 'utf8')), 'config'))
        } catch (error) {
          log.error('call.unreadable', { file: join(dir, name), error })
        }
      // A body whose call was never acknowledged, or is over.
      const known = new Set(calls.map(({ id }) => id))
      for (const name of names.filter(one => one.endsWith('.body') && !known.has(one.slice(0, -5))))
        if (!names.includes(`${name.slice(0, -5)}.json`)) await rm(join(dir, name), { force: true })
      return calls
    },
  }
}
