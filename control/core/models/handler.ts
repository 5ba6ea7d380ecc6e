/**
 * The data plane of models: a request that was let in → its route → its limits → the provider → the client; what it used is written down.
 * Raw node:http in, undici out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { ApiKey, Owner, Workspace } from '../store/store.ts'
import { attempt, type AttemptDeps, type Served } from './attempts.ts'
import { isStream, passOn, type Ending } from './answering.ts'
import { roughTokens } from './estimate.ts'
import { answerHeaders } from './headers.ts'
import type { Held, Limits } from './limits/limits.ts'
import type { Meters } from './meters.ts'
import { bodyOf, jsonOf, mostOutputOf, prepare, type Prepare } from './prepare.ts'
import type { Bodies } from './request-body.ts'
import type { Route } from './routes.ts'
import { counting as countingFor, noUsage, type Usage } from './usage.ts'

/** The longest that a call may take. */
const longestMs = 900_000

export interface ModelRequest {
  readonly owner: Owner
  readonly workspace: Workspace
  readonly key: ApiKey
  /** Path and query below the model's own address. */
  readonly target: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface HandlerDeps extends AttemptDeps {
  readonly limits: Limits
  readonly meters: Meters
  readonly bodies: Bodies
  readonly clock: Clock
  readonly ids: Pick<Ids, 'uuid'>
  /** Names of the header that says which model has served. */
  readonly servedHeaders: readonly string[]
}

/** A call under way. */
export interface Call extends ModelRequest, Prepare {
  /** Monotonic, ms. */
  readonly startedAt: number
  readonly route: Route
  readonly held: Held
  readonly signal: AbortSignal
}

const abandoned = new Error('the client is gone')
const tooLong = new Error(`the call took longer than ${longestMs / 60_000} minutes`)

/** Aborts when nobody waits for the answer any more, or it has taken too long; until the returned function is called. */
const watch = (clock: Clock, response: ServerResponse, gone: AbortController): (() => void) => {
  const leave = () => gone.abort(abandoned)
  response.once('close', leave)
  const stop = clock.after(longestMs, () => gone.abort(tooLong))
  return () => {
    response.off('close', leave)
    stop()
  }
}

const hold = (deps: HandlerDeps, key: ApiKey, route: Route, call: Prepare): Promise<Held> => {
  const { body, request } = call
  const { dialect } = prepare(route, call)
  const bytes = body.raw instanceof Buffer ? body.raw.length : Number(request.headers['content-length'] ?? 0)
  return deps.limits.hold(route, key, { input: roughTokens(bytes), mostOutput: mostOutputOf(body, dialect) })
}

const withoutLength = (headers: readonly string[]): string[] =>
  headers.flatMap((name, at) =>
    at % 2 === 1 || name.toLowerCase() === 'content-length' ? [] : [name, headers[at + 1] as string],
  )

const writeHead = ({ ours, servedHeaders }: HandlerDeps, { response }: Call, served: Served): void => {
  const { answer, route, prepared } = served
  const headers = answerHeaders(answer.headers, { ours, secrets: route.secrets })
  const isReshaped = isStream(answer) || prepared.transform !== undefined
  const text = answer.statusText.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
  const named = servedHeaders.flatMap(name => [name, route.record.name])
  response.writeHead(answer.status, text, [...(isReshaped ? withoutLength(headers) : headers), ...named] as string[])
  // A stream may take its time; whoever waits knows by then that it has begun.
  if (isStream(answer)) response.flushHeaders()
}

/** How a call failed, in the word that is written down; '' for one that went well. */
const failureOf = (ending: Ending, status: number): string => {
  if (ending !== 'whole') return ending
  return status >= 400 ? 'refused' : ''
}

const deliver = async (deps: HandlerDeps, call: Call, served: Served): Promise<void> => {
  const { clock, meters } = deps
  const { answer, route, prepared } = served
  const counting = countingFor(prepared.dialect)
  let ttftMs: number | null = null
  writeHead(deps, call, served)
  const ending = await passOn({
    answer,
    response: call.response,
    dialect: prepared.dialect,
    told: prepared.told,
    counting,
    secrets: route.secrets,
    transform: prepared.transform,
    clock,
    began: () => {
      ttftMs = Math.round(clock.elapsed() - call.startedAt)
    },
  })
  const { status } = answer
  const usage = status >= 400 ? noUsage : await counting.settle(() => jsonOf(call.body))
  await meters.note(call, { served: route, status, usage, failure: failureOf(ending, status), ttftMs })
}

/** What a call has used that got no answer: what was sent may have been read all the same. */
const unanswered = async (deps: HandlerDeps, call: Call): Promise<void> => {
  const isGone = call.signal.reason === abandoned
  const { dialect } = prepare(call.route, call)
  const usage: Usage = isGone ? await countingFor(dialect).settle(() => jsonOf(call.body)) : noUsage
  const failure = isGone ? 'gone' : 'upstream'
  await deps.meters.note(call, { served: call.route, status: isGone ? 0 : 502, usage, failure, ttftMs: null })
}

/** Throws what can still be said to the client. */
const run = async (deps: HandlerDeps, call: Call): Promise<void> => {
  const served = await attempt(deps, call).catch(async (error: unknown) => {
    await unanswered(deps, call)
    if (call.signal.reason === abandoned) return undefined
    if (call.signal.reason === tooLong)
      throw fail('model_failed', { name: call.route.record.name, reason: tooLong.message }, error)
    throw error
  })
  if (served) await deliver(deps, call, served)
}

export const modelHandler =
  (deps: HandlerDeps) =>
  async (asked: ModelRequest): Promise<void> => {
    const { owner, request, response } = asked
    const { clock, routes, bodies, ids, meters } = deps
    const [startedAt, time] = [clock.elapsed(), clock.now()]
    const gone = new AbortController()
    const forget = watch(clock, response, gone)
    let release = () => {}
    try {
      const route = await routes.of(owner)
      const read = await bodies.read(request, gone.signal)
      release = read.release
      const body = bodyOf(read.body)
      const call = { ...asked, id: ids.uuid(), time, body }
      const held = await hold(deps, asked.key, route, call).catch((error: unknown) => {
        meters.refused(asked)
        throw error
      })
      try {
        await run(deps, { ...call, startedAt, route, held, signal: gone.signal })
      } finally {
        held.settle({ input: 0, output: 0, costNanos: 0 })
      }
    } finally {
      release()
      forget()
    }
  }
