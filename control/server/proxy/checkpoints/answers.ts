/**
 * Checkpoints of the per-sandbox API, answered by the host in the daemon's place: the daemon has no files but its own, and whatever a
 * tenant makes of it, nothing it says decides what is saved or given back.
 */
import { once } from 'node:events'
import type { Clock } from '../../../../shared/clock.ts'
import { dispatcher, type Dispatcher } from '../../../../shared/http/dispatch.ts'
import { matcher } from '../../../../shared/http/match.ts'
import { listener } from '../../../../shared/http/server.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import { handle, json, type Bound, type Context } from '../../../../shared/route.ts'
import { startProcess } from '../../../../shared/wire/process.ts'
import { sandboxHeaders } from '../../../../shared/wire/sandbox-headers.ts'
import { daemonAt } from '../../../core/channel/client.ts'
import type { Connections } from '../../../core/channel/connections.ts'
import type { Answers } from '../gateway/answers.ts'
import { readAhead } from '../gateway/read-ahead.ts'
import type { Checkpoints } from '../../../core/kinds/sandbox/snapshots/checkpoints.ts'
import { partsOf } from '../target-parts.ts'
import type { Address, Instance } from '../../../core/store/store.ts'
import { diffCheckpoint, listCheckpoints, redo, startCheckpointed, undo } from './routes.ts'

interface Deps {
  readonly connections: Connections
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

const ownerOf = ({ facts }: Context): string => (facts['instance'] as Instance).owner.uid

/** A command may run for long before it is answered. */
const bounds = { timeoutMs: 60 * 60_000, maxBytes: 64 * 1024 * 1024 }

const routesOf = (checkpoints: Checkpoints, { connections }: Deps): Bound[] => [
  handle(startCheckpointed, async ({ body: { checkpoint: _asked, ...body } }, context) => {
    const checkpoint = await checkpoints.cut(ownerOf(context), body.command)
    const daemon = daemonAt(connections, context.facts['upstream'] as Address, 'client', bounds)
    return { ...(await daemon.ask(startProcess, { body })), checkpoint }
  }),
  handle(listCheckpoints, async (_, context) =>
    (await checkpoints.list(ownerOf(context))).map(({ id, createdAt, command = '', bytes }) => ({
      id,
      createdAt: new Date(createdAt).toISOString(),
      command,
      bytes,
      processes: 'ended' as const,
    })),
  ),
  handle(
    diffCheckpoint,
    ({ params, query }, context) => checkpoints.diff(ownerOf(context), params.id, query.content ?? false) as never,
  ),
  ...([undo, redo] as const).map(one =>
    handle(one, ({ body }, context) =>
      checkpoints.move(ownerOf(context), one === undo ? 'undo' : 'redo', {
        to: body.to ?? undefined,
        restart: body.restart ?? false,
      }),
    ),
  ),
]

const mostBytes = startProcess.bodyLimit
const member = Buffer.from('"checkpoint"')
/** Of a body that is looked at before it is known whether it asks for one. */
const mostPeeked = 256 * 1024

const asksForOne = (body: Buffer): boolean => {
  try {
    return (JSON.parse(body.toString('utf8')) as { checkpoint?: unknown }).checkpoint === true
  } catch {
    // What cannot be read the daemon refuses, and says why.
    return false
  }
}

/** What `others` answers, and checkpoints of sandboxes. */
export const withCheckpoints = (checkpoints: Checkpoints, deps: Deps, others: Answers): Answers => {
  const bounds = routesOf(checkpoints, deps)
  const routes = matcher(bounds, 'whole')
  const { clock, ids, log } = deps
  const answering = (instance: Instance, upstream: Address, target: string): Dispatcher => {
    const inner = dispatcher(
      bounds,
      {
        decoding: 'whole',
        headers: sandboxHeaders,
        renderError: error => json({ error: error.message }, { status: error.status }),
        before: () => ({ instance, upstream }),
      },
      { log, ids, elapsed: clock.elapsed },
    )
    return { bounds, dispatch: (request, client) => inner.dispatch({ ...request, ...partsOf(target) }, client) }
  }
  const routeOf = (method: string, target: string) => {
    const { rawPath, path } = partsOf(target)
    return routes.match(method, rawPath, path)?.bound.route
  }
  const isOurs = (instance: Instance, method: string, target: string): boolean =>
    checkpoints.isFor(instance) && routeOf(method, target) !== undefined

  return {
    takes(instance, method, target, peek) {
      if (others.takes(instance, method, target, peek)) return true
      if (!isOurs(instance, method, target)) return false
      if (routeOf(method, target) !== startCheckpointed) return true
      const body = peek?.(mostPeeked)
      return body === undefined || body.includes(member)
    },
    async answer(call) {
      const { instance, target, upstream, request, response } = call
      const method = request.method ?? 'GET'
      if (others.takes(instance, method, target)) return others.answer(call)
      if (routeOf(method, target) === startCheckpointed) {
        const body = await readAhead(request, mostBytes)
        if (body === 'gone') return undefined
        if (typeof body === 'string' || !asksForOne(body)) return 'pass'
      }
      // A client that has gone has had its 'close'; no other one would come.
      if (response.destroyed) return undefined
      const closed = once(response, 'close')
      listener(answering(instance, upstream, target), { log }).request(request, response)
      await closed
      return undefined
    },
  }
}
