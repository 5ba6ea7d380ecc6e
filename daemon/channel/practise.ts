/**
 * What a daemon that waits to be somebody's does while nobody waits for it: the first requests of a sandbox, so that what they load
 * and compile is there when it is claimed. The daemon that does it is closed, and what it made removed, before it is asked
 * anything.
 */
import { Readable } from 'node:stream'
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import type { Bound, Request } from '../../shared/route.ts'

/** Shapes that are made with the first request otherwise. */
const early: ReadonlySet<string> = new Set(['host.claim', 'process.start', 'process.get', 'filesystem.write'])

/** V8 knows after a few times what it will be doing. */
const rounds = 3

const requestOf = (method: string, path: string, body: object): Request => ({
  method,
  rawPath: path,
  path,
  search: new URLSearchParams(),
  rawQuery: '',
  headers: { 'content-type': 'application/json' },
  body: Readable.from([Buffer.from(JSON.stringify(body))]),
  remote: '',
  local: '',
})

/** Whether the image has such a program does not matter: the answer is nobody's. */
export const practise = async (bounds: readonly Bound[], { dispatch }: Dispatcher): Promise<void> => {
  for (const { route } of bounds)
    if (early.has(route.id)) for (const shape of [route.params, route.query, route.body]) shape.safeParse({})
  const { signal } = new AbortController()
  const command = { command: 'true', waitForCompletion: true, timeout: 5 }
  for (let round = 0; round < rounds; round++) await dispatch(requestOf('POST', '/process', command), signal)
}
