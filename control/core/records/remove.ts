import { fail, isError } from '../../../shared/errors.ts'
import { onNewest } from '../transitions/transition.ts'
import {
  answer,
  attempts,
  find,
  keyOf,
  needParents,
  pokeAll,
  type Actor,
  type Context,
  type Inside,
} from './context.ts'
import { carried } from './carried.ts'
import { isImplied } from './implied.ts'
import { lostSpecOf, type Found } from './kind.ts'
import type { Presented } from './present.ts'

/** A status among the members of the spec has words of its own. */
const lastStatus = ({ kind }: Context, status: string): string => (status && !kind.statusMember ? 'DELETING' : status)

/** The row goes at once, with all that lives inside it. */
const erase = async (context: Context, { record }: Found, unreadable = false): Promise<Found> => {
  pokeAll(context, await context.transition.write([{ remove: record, ...(unreadable ? { unreadable } : {}) }]))
  return { record: { ...record, status: lastStatus(context, record.status) }, instances: [] }
}

const leave = async (context: Context, found: Found): Promise<Found> => {
  const { kind, transition, poke } = context
  const { removalEvent, life } = kind
  const { record, instances } = found
  const { name, status, uid } = record
  // On its way out already: the loop is told once more, in case it is stuck.
  if (life?.next(status, removalEvent, record) === status) {
    poke(kind.kind, uid)
    return found
  }
  const message = removalEvent === 'delete' ? `${kind.kind} ${name} deleted` : `${kind.kind} ${name}: ${removalEvent}`
  const inside = await carried(context, record, removalEvent)
  const written = await transition.write([{ record, event: { name: removalEvent, message } }, ...inside])
  pokeAll(context, written)
  return { record: written.resources[0] ?? record, instances }
}

/** What it was asked for, or the error that says that it cannot be read, or that there is none of that name. */
const readable = <T>(asked: Promise<T>): Promise<T | { readonly error: unknown }> =>
  asked.catch((error: unknown) => {
    if (!isError(error, 'unavailable') && !isError(error, 'not_found')) throw error
    return { error }
  })

/** By the name in an address, or by the stored one: lists name those that cannot be read by that. */
const outlineOf = async (context: Context, actor: Actor, name: string, { parents }: Inside) => {
  const { kind, store } = context
  const stored = kind.names.stored?.(name) ?? name
  return (
    (await store.resources.outline(keyOf(context, actor, stored, parents))) ??
    (await store.resources.outline(keyOf(context, actor, name, parents)))
  )
}

/**
 * One of which something cannot be read goes as what is left of it: nobody knows what it may do, but that it is not wanted any more. Throws
 * `error`, which kept it from being found, where there is no such one.
 */
const leaveLost = async (
  context: Context,
  { actor, name, inside, error }: { actor: Actor; name: string; inside: Inside; error: unknown },
): Promise<Found> => {
  const { kind, store, transition } = context
  const { removalEvent } = kind
  const outline = await outlineOf(context, actor, name, inside)
  if (!outline) throw error
  // It may be the row of its machine that cannot be read; one that is not found by that name has another one.
  const read = (await readable(store.resources.getByUid(outline.uid))) ?? { error }
  if (!('error' in read) && isError(error, 'not_found')) throw error
  const metadata = { createdBy: '', updatedBy: actor.name }
  const lost = 'error' in read ? { ...outline, metadata, spec: lostSpecOf(kind), internal: {} } : read
  await kind.beforeRemoval?.(context, lost)
  if (kind.removal === 'immediate') return erase(context, { record: lost, instances: [] }, true)
  const message = `${kind.kind} ${name} deleted; not all of it could be read`
  const written = await transition.write([
    { lost, event: { name: removalEvent, message } },
    ...(await carried(context, lost, removalEvent)),
  ])
  pokeAll(context, written)
  return { record: written.resources[0] ?? lost, instances: [] }
}

/** What was deleted: its record, and its last form as answered. */
export interface Gone {
  readonly record: Found['record']
  readonly answered: Presented
}

/**
 * Repeating it is harmless: what is on its way out is answered as it is.
 * Throws `in_use`, and `wrong_state` for one that is always there.
 */
export const remove = async (context: Context, actor: Actor, name: string, inside: Inside = {}): Promise<Gone> => {
  const { kind } = context
  await needParents(context, actor, inside)
  const gone = await onNewest(async () => {
    const found = await readable(find(context, actor, name, inside))
    if ('error' in found) return leaveLost(context, { actor, name, inside, ...found })
    if (isImplied(found.record))
      throw fail('wrong_state', { kind: kind.kind, name, state: 'always there', wanted: 'a delete' })
    await kind.beforeRemoval?.(context, found.record)
    return kind.removal === 'immediate' ? erase(context, found) : leave(context, found)
  }, attempts)
  return { record: gone.record, answered: await answer(context, gone) }
}
