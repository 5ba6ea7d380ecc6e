/**
 * Calls that are acknowledged at once and made afterwards. One that waits when the server ends is made by the next; one that a machine
 * had is reported as failed, since nobody knows how far it came. Its callback is tried again across restarts.
 */
import type { Clock } from '../../../../shared/clock.ts'
import type { Closing } from '../../../../shared/closing.ts'
import { fail, isError, messageOf } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import { semaphore } from '../../../../shared/sync.ts'
import type { Connections } from '../../channel/connections.ts'
import type { Sealer } from '../../secrets/secrets.ts'
import type { Resource, Store } from '../../store/store.ts'
import type { Balancer, Seat } from '../balance.ts'
import { callBack, type CallbackOptions } from './callback.ts'
import { ask } from './ask.ts'
import type { Answer, CallStore, StoredCall } from './stored.ts'

export interface AsyncDeps {
  readonly calls: CallStore
  readonly store: Pick<Store, 'resources' | 'meter'>
  readonly balancer: Balancer
  readonly connections: Connections
  readonly sealer: Sealer
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

export interface AsyncCalls {
  /** When it resolves, the call will be made or reported as failed, whatever happens to this server. Throws `too_many_calls`. */
  accept(call: Omit<StoredCall, 'id' | 'phase' | 'attempts'>, body: Buffer, dimension: string): Promise<void>
  /** Goes on with those of an earlier server. */
  start(): Promise<void>
}

/** Under way at once, of all records. */
const atOnce = 64
/** Acknowledged and not over, of one record. */
const mostOfOne = 1_000
const firstPauseMs = 1_000
const lastPauseMs = 60_000

interface Context extends AsyncDeps, CallbackOptions {
  readonly turns: ReturnType<typeof semaphore>
  readonly stop: AbortController
  /** By record, calls that are not over. */
  readonly open: Map<string, number>
}

const failed = (error: unknown): Answer => {
  const known = isError(error) ? error : fail('upstream_failed', { reason: messageOf(error) })
  const body = JSON.stringify({ error: { code: known.code, message: known.message, origin: 'platform' } })
  return { status: known.status, body, length: Buffer.byteLength(body) }
}

/** A machine for it, however long that takes within its time. */
const seatFor = async (context: Context, record: Resource, signal: AbortSignal): Promise<Seat> => {
  const { balancer, clock } = context
  for (;;)
    try {
      return await balancer.enter(record, signal)
    } catch (error) {
      if (!isError(error, 'too_many_calls') && !isError(error, 'timed_out')) throw error
      await clock.sleep(firstPauseMs, signal)
    }
}

const make = async (context: Context, call: StoredCall): Promise<Answer> => {
  const { store, calls, connections, stop } = context
  const { owner, timeoutMs } = call
  const overdue = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([overdue, stop.signal])
  try {
    const record = await store.resources.getByUid(owner.uid)
    if (!record)
      throw fail('workload_not_found', { kind: owner.kind, wanted: `"${owner.name}" in "${owner.workspace}"` })
    const seat = await seatFor(context, record, signal)
    try {
      await calls.update({ ...call, phase: 'begun' })
      return await ask(
        connections,
        { address: seat.upstream, port: seat.port },
        call,
        await calls.body(call.id),
        signal,
      )
    } finally {
      seat.release()
    }
  } catch (error) {
    // The next server says how it ended.
    if (stop.signal.aborted) throw error
    if (overdue.aborted) return failed(fail('timed_out', { what: 'the call', afterMs: timeoutMs }))
    return failed(error)
  }
}

/** As the record has it now: a secret may have been sealed anew meanwhile. */
const secretOf = async ({ store, sealer }: Context, { owner, callback }: StoredCall): Promise<string> => {
  const record = await store.resources.getByUid(owner.uid)
  const triggers = (record?.spec['triggers'] ?? []) as readonly {
    readonly configuration?: { readonly callbackUrl?: string; readonly callbackSecret?: string }
  }[]
  const found = triggers.find(({ configuration }) => configuration?.callbackUrl === callback?.url)
  return sealer.open(found?.configuration?.callbackSecret ?? callback?.secret ?? '')
}

const report = async (context: Context, given: StoredCall & { readonly answer: Answer }): Promise<void> => {
  const { calls, clock, log, stop } = context
  let call = given
  for (;;) {
    const { retry = 0, url = '' } = call.callback ?? {}
    try {
      await callBack(call, await secretOf(context, call), clock.now(), context)
      log.info('callback.made', { call: call.id, owner: call.owner.uid, attempts: call.attempts + 1 })
      return
    } catch (error) {
      if (stop.signal.aborted) throw error
      call = { ...call, attempts: call.attempts + 1 }
      const isLast = call.attempts > retry
      const reason = messageOf(error)
      log.warn(isLast ? 'callback.given-up' : 'callback.failed', {
        call: call.id,
        url,
        attempts: call.attempts,
        reason,
      })
      if (isLast) return
      await calls.update(call)
      await clock.sleep(Math.min(lastPauseMs, firstPauseMs * 2 ** (call.attempts - 1)), stop.signal)
    }
  }
}

/** Takes a call to its end, from wherever it is. */
const finish = async (context: Context, call: StoredCall): Promise<void> => {
  const { calls } = context
  const answer =
    call.answer ??
    (call.phase === 'begun'
      ? failed(fail('unavailable', { what: 'the server ended while the call was under way', next: 'call again' }))
      : await context.turns(() => make(context, call)))
  if (call.callback) {
    const answered = { ...call, phase: 'answered' as const, answer }
    if (call.phase !== 'answered') await calls.update(answered)
    await report(context, answered)
  }
  await calls.remove(call.id)
}

const begin = (context: Context, call: StoredCall): void => {
  const { open, log, stop } = context
  const { uid } = call.owner
  open.set(uid, (open.get(uid) ?? 0) + 1)
  finish(context, call)
    .catch((error: unknown) => {
      if (!stop.signal.aborted) log.error('call.lost', { call: call.id, error })
    })
    .finally(() => {
      const left = (open.get(uid) ?? 1) - 1
      if (left > 0) open.set(uid, left)
      else open.delete(uid)
    })
}

export const createAsyncCalls = (options: CallbackOptions, deps: AsyncDeps, closer: Closing): AsyncCalls => {
  const context: Context = {
    ...deps,
    ...options,
    turns: semaphore(atOnce),
    stop: new AbortController(),
    open: new Map(),
  }
  const { calls, store, ids, clock, open, stop } = context
  closer.add('calls that were acknowledged', () => stop.abort(new Error('the server ends')))
  return {
    async accept(given, body, dimension) {
      const { owner } = given
      const waiting = open.get(owner.uid) ?? 0
      if (waiting >= mostOfOne) throw fail('too_many_calls', { kind: owner.kind, name: owner.name, waiting })
      const call: StoredCall = { ...given, id: ids.uuid(), phase: 'waiting', attempts: 0 }
      await calls.add(call, body)
      await store.meter.count(owner, dimension, 1, clock.now())
      begin(context, call)
    },
    async start() {
      for (const call of await calls.all()) begin(context, call)
    },
  }
}
