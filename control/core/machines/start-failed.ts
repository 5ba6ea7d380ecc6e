/** What comes of a start that failed: it waits, is tried again, or its record is given up. */
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Outcome } from '../transitions/loop.ts'
import { allows, errorOf, type Context, type Subject } from './context.ts'
import { remembering, withError } from './history.ts'
import { inRemovalTurn, type Place } from './removals.ts'

const maxAttempts = 3

interface Failed {
  readonly subject: Subject
  readonly place: Place
  readonly error: unknown
}

const giveUp = async (context: Context, { subject, place, error }: Failed): Promise<Outcome> => {
  const { transition, log, pokeOwner } = context
  const { instance, owner, driver } = subject
  log.warn('instance.failed', { instance: instance.id, owner: owner.uid, name: owner.name, error })
  await inRemovalTurn(context, place, () => driver.remove(instance.id))
  const last = { ...instance, errors: withError(instance.errors, problem(context, error, true)) }
  await transition.write([
    {
      record: owner,
      event: { name: 'broke', message: messageOf(error) },
      change: { internal: remembering(owner, last) },
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
  const { instance, owner } = subject
  if (isError(error, 'no_room')) return waiting(context, subject, error.message, 5_000)
  if (isError(error, 'busy')) return { againMs: 500 }
  const attempts = instance.attempts + 1
  const hopeless = isError(error) && !error.retry
  // One that has run before holds files: those are not given up because the box is not right just now.
  const mayGiveUp = instance.startedAt === undefined && allows(context, owner, 'broke')
  if (mayGiveUp && (hopeless || attempts >= maxAttempts)) return giveUp(context, failed)
  const now = problem(context, error, false)
  const last = instance.errors.at(-1)
  // Tried for as long as it takes, it says the same again and again, until nothing else is left: it stands there once, with its last time.
  const isSaid = !mayGiveUp && last?.code === now.code && last.message === now.message
  const errors = withError(isSaid ? instance.errors.slice(0, -1) : instance.errors, now)
  await context.transition.write([{ instance, change: { attempts, errors } }])
  return { againMs: Math.min(60_000, 200 * 2 ** Math.min(attempts, 16)) }
}
