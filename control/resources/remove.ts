import { onNewest } from '../reconcile/transition.ts'
import { answer, attempts, find, needParents, pokeAll, type Actor, type Context, type Inside } from './context.ts'
import type { Found } from './kind.ts'
import type { Presented } from './present.ts'

/** The row goes at once, with all that lives inside it. */
const erase = async (context: Context, { record }: Found): Promise<Found> => {
  pokeAll(context, await context.transition.write([{ remove: record }]))
  return { record: { ...record, status: record.status && 'DELETING' }, instances: [] }
}

const leave = async (context: Context, found: Found): Promise<Found> => {
  const { kind, transition, poke } = context
  const { record, instances } = found
  const { name, status, uid } = record
  // On its way out already: the loop is told once more, in case it is stuck.
  if (kind.life?.next(status, 'delete', record) === status) {
    poke(kind.kind, uid)
    return found
  }
  const message = `${kind.kind} ${name} deleted`
  const written = await transition.write([{ record, event: { name: 'delete', message } }])
  pokeAll(context, written)
  return { record: written.resources[0] ?? record, instances }
}

/** Repeating it is harmless: what is on its way out is answered as it is. Throws `in_use`. */
export const remove = async (context: Context, actor: Actor, name: string, inside: Inside = {}): Promise<Presented> => {
  await needParents(context, actor, inside)
  const gone = await onNewest(async () => {
    const found = await find(context, actor, name, inside)
    return context.kind.removal === 'immediate' ? erase(context, found) : leave(context, found)
  }, attempts)
  return answer(context, gone)
}
