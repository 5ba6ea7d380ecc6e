/** What comes of a start that failed: it waits, is tried again, or its record is given up. */
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Outcome } from '../transitions/loop.ts'
import type { Step } from '../transitions/rules.ts'
import { allows, errorOf, type Context, type Subject } from './context.ts'
import { remembering, withError } from './history.ts'
import { inRemovalTurn, type Place } from './removals.ts'

const maxAttempts = 3

interface Failed {
  readonly subject: Subject
  readonly place: Place
  readonly error: unknown
}

/** What follows for the record when the machine is given up; undefined when it is tried again and again. */
const abandoning = (context: Context, { subject, error }: Failed): Step | undefined => {
  const { instance, owner, workload } = subject
  // One that has run before holds files: those are not given up because the box is not right just now.
  if (instance.startedAt !== undefined) return undefined
  const message = messageOf(error)
  if (workload.abandon) return workload.abandon(owner, instance, message)
  return allows(context, owner, 'broke') ? { event: { name: 'broke', message } } : undefined
}

const giveUp = async (
  context: Context,
  { subject, place, error }: Failed,
  { event, internal }: Step,
): Promise<Outcome> => {
  const { transition, log, pokeOwner } = context
  const { instance, owner, driver } = subject
  log.warn('instance.failed', { instance: instance.id, owner: owner.uid, name: owner.name, error })
  await inRemovalTurn(context, place, () => driver.remove(instance.id))
  const last = { ...instance, errors: withError(instance.errors, problem(context, error, true)) }
  await transition.write([
    {
      record: owner,
      ...(event ? { event } : {}),
      change: { internal: { ...remembering(owner, last), ...internal } },
    },
    { drop: instance },
  ])
  pokeOwner(owner.uid)
  return {}
}

const problem = (context: Context, error: unknown, fatal: boolean) =>
  errorOf(context, {
    code: isError(error) ? error.code.toUpperCase() : 'INTERNAL',
    message: messageOf(error),
    fatal,
  })

/** Says in an event, once, what the record waits for. */
export const waiting = async (
  context: Context,
  { owner }: Subject,
  message: string,
  againMs: number,
): Promise<Outcome> => {
  const { store, transition } = context
  context.onWaiting?.(owner.uid)
  const last = (await store.resources.events(owner.uid)).at(-1)
  if (last?.message !== message && allows(context, owner, 'waiting'))
    await transition.write([{ record: owner, event: { name: 'waiting', message } }])
  return { againMs }
}

export const startFailed = async (context: Context, failed: Failed): Promise<Outcome> => {
  const { subject, error } = failed
  const { instance } = subject
  if (isError(error, 'no_room')) return waiting(context, subject, error.message, 5_000)
  if (isError(error, 'busy')) return { againMs: 500 }
  const attempts = instance.attempts + 1
  const hopeless = isError(error) && !error.retry
  const abandoned = abandoning(context, failed)
  if (abandoned && (hopeless || attempts >= maxAttempts)) return giveUp(context, failed, abandoned)
  const now = problem(context, error, false)
  const last = instance.errors.at(-1)
  // Tried for as long as it takes, it says the same again and again, until nothing else is left: it stands there once, with its last time.
  const isSaid = !abandoned && last?.code === now.code && last.message === now.message
  const errors = withError(isSaid ? instance.errors.slice(0, -1) : instance.errors, now)
  await context.transition.write([{ instance, change: { attempts, errors } }])
  return { againMs: Math.min(60_000, 200 * 2 ** Math.min(attempts, 16)) }
}
