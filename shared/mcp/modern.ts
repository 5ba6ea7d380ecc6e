/**
 * Requests of revision 2026-07-28, which have no handshake and no session. The SDK's own HTTP handler for this revision
 * needs Node's fetch classes, which cost 18 MB and 65 ms with the first request, and a server object per request. The
 * tests compare its answers with ours.
 */
import { reply, type Context, type Reply } from '../route.ts'
import { problemsOf, s } from '../schema.ts'
import { metaKeys } from './envelope.ts'
import type { Methods, ServerInfo } from './methods.ts'
import { modernRevisions } from './revisions.ts'
import { answer, codes, failure, noStore, type Outcome, type RpcRequest } from './rpc.ts'

/** How long a client may cache the list: tools change only when the server is upgraded. */
const fresh = { ttlMs: 300_000, cacheScope: 'private' } as const

const discover = (): Outcome => ({
  // The list never changes while a server runs, so no change is announced; and no log messages are sent.
  result: { supportedVersions: modernRevisions, capabilities: { tools: {} }, ...fresh },
})

const frame = (message: object): string => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`

const filterShape = s.looseObject({
  toolsListChanged: s.optional(s.boolean()),
  promptsListChanged: s.optional(s.boolean()),
  resourcesListChanged: s.optional(s.boolean()),
  resourceSubscriptions: s.optional(s.array(s.string())),
})

/** A subscription is acknowledged and ended at once, since nothing that is offered could change. */
const listen = ({ id, params }: RpcRequest, meta: object): Reply => {
  const [problem] = problemsOf(filterShape, params?.['notifications'])
  if (problem) {
    const message = `params.notifications${problem.field && '.'}${problem.field} ${problem.reason}`
    return answer({ jsonrpc: '2.0', error: { code: codes.invalidParams, message }, id })
  }
  const subscription = { [metaKeys.subscription]: id }
  const acknowledged = {
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: {}, _meta: subscription },
  }
  const ended = { id, result: { resultType: 'complete', _meta: { ...subscription, ...meta } } }
  return reply(
    200,
    { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no', ...noStore },
    frame(acknowledged) + frame(ended),
  )
}

const outcomeOf = async (methods: Methods, request: RpcRequest, context: Context): Promise<Outcome | undefined> => {
  const { method, params } = request
  if (method === 'server/discover') return discover()
  if (method === 'tools/call') return methods.call(params, context)
  if (method !== 'tools/list') return undefined
  const listed = methods.list(params, context)
  return 'error' in listed ? listed : { result: { ...listed.result, ...fresh } }
}

/** Answers one request whose headers and envelope are checked already. */
export const answerModern = async (
  { methods, info }: { readonly methods: Methods; readonly info: ServerInfo },
  request: RpcRequest,
  context: Context,
): Promise<Reply> => {
  const { id, method } = request
  const meta = { [metaKeys.server]: info }
  if (method === 'subscriptions/listen') return listen(request, meta)
  const outcome = await outcomeOf(methods, request, context)
  if (!outcome) return failure(404, { code: codes.methodNotFound, message: `there is no method "${method}"` }, id)
  if ('error' in outcome) return answer({ jsonrpc: '2.0', error: outcome.error, id })
  return answer({ jsonrpc: '2.0', id, result: { ...outcome.result, resultType: 'complete', _meta: meta } })
}
