/** Asks a model's provider, again where the model says so, and then the models it falls back to. Nothing has gone to the client by then. */
import type { Clock } from '../../../shared/clock.ts'
import { fail, isError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { requestHeaders } from './headers.ts'
import { prepare, type Prepare, type Prepared } from './prepare.ts'
import { reasonOf } from './reasons.ts'
import type { Route, Routes } from './routes.ts'
import { ask, drop, type Answer } from './upstream.ts'

export interface Served {
  readonly route: Route
  readonly prepared: Prepared
  readonly answer: Answer
}

export interface AttemptDeps {
  readonly routes: Routes
  readonly clock: Clock
  readonly log: Log
  /** Lower-case prefixes of headers that are the platform's. */
  readonly ours: readonly string[]
}

export interface Asking extends Prepare {
  readonly route: Route
  readonly signal: AbortSignal
}

/** Answers after which another attempt may do better. */
const passing: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529])

/** As long as it is waited for one model before the next one is asked. */
const mostWaitMs = 10_000
const firstWaitMs = 250

/** What the provider says about when to come again, ms; undefined where it does not. */
const retryAfter = (answer: Answer, now: number): number | undefined => {
  const ms = Number(answer.header('retry-after-ms'))
  if (ms > 0) return ms
  const text = answer.header('retry-after')
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const once = async ({ ours }: AttemptDeps, asking: Asking, prepared: Prepared): Promise<Answer> => {
  const { route, request, signal } = asking
  const credential = await route.credential()
  const headers = requestHeaders(request.rawHeaders, { provider: route.provider, credential, ours })
  const { path, method, body } = prepared
  return ask({ dispatcher: route.dispatcher, origin: route.base.origin, path, method, headers, body }, signal)
}

/** What of an error a caller is told: our own errors as they are, whatever the network says in short. */
const failed = (route: Route, error: unknown): Error =>
  isError(error) ? error : fail('model_failed', { name: route.record.name, reason: reasonOf(error) }, error)

type Outcome = { readonly answer: Answer } | { readonly error: unknown }

const outcomeOf = (deps: AttemptDeps, asking: Asking, prepared: Prepared): Promise<Outcome> =>
  once(deps, asking, prepared).then(
    answer => ({ answer }),
    (error: unknown) => ({ error }),
  )

const isWorthMore = (outcome: Outcome): boolean =>
  'answer' in outcome ? passing.has(outcome.answer.status) : !isError(outcome.error)

/** Those that a request can be sent to, in their order. A fallback that cannot be used is passed over, and said to the log. */
async function* candidates(deps: AttemptDeps, { route }: Asking): AsyncGenerator<Route> {
  yield route
  const { kind, workspace } = route.record
  for (const name of route.fallbacks) {
    if (name === route.record.name) continue
    try {
      yield await deps.routes.of({ kind, workspace, name })
    } catch (error) {
      deps.log.warn('models.fallback', { model: route.record.name, fallback: name, reason: messageOf(error) })
    }
  }
}

/** Resolves with the first answer that is worth passing on, or with the last one there was. */
export const attempt = async (deps: AttemptDeps, asking: Asking): Promise<Served> => {
  const { route: first, body, signal } = asking
  const canRepeat = body.raw === null || body.raw instanceof Buffer
  let last: { route: Route; prepared: Prepared; outcome: Outcome } | undefined
  for await (const route of candidates(deps, asking)) {
    if (last && !canRepeat) break
    const prepared = prepare(route, asking)
    const tries = canRepeat ? first.retries + 1 : 1
    for (let tried = 1; tried <= tries; tried++) {
      if (last && 'answer' in last.outcome) await drop(last.outcome.answer)
      const outcome = await outcomeOf(deps, { ...asking, route }, prepared)
      last = { route, prepared, outcome }
      signal.throwIfAborted()
      if (!isWorthMore(outcome)) break
      const isLastTry = tried === tries
      const wait = 'answer' in outcome ? retryAfter(outcome.answer, deps.clock.now()) : undefined
      if (isLastTry || (wait ?? 0) > mostWaitMs) break
      await deps.clock.sleep(wait ?? firstWaitMs * 2 ** (tried - 1), signal)
    }
    if (last && !isWorthMore(last.outcome)) break
  }
  if (!last) throw new Error('a model was asked nothing')
  const { route, prepared, outcome } = last
  if ('error' in outcome) throw failed(route, outcome.error)
  return { route, prepared, answer: outcome.answer }
}
