import { fail } from '../../shared/errors.ts'
import { leavingStatuses } from '../reconcile/rules.ts'
import { onNewest } from '../reconcile/transition.ts'
import type { Resource } from '../store/store.ts'
import {
  answer,
  attempts,
  find,
  needParents,
  pokeAll,
  withInstances,
  type Actor,
  type Context,
  type Inside,
} from './context.ts'
import type { ResourceInput } from './body.ts'
import { statusOf, type Found, type Spec } from './kind.ts'
import { mergeMetadata } from './metadata.ts'
import type { Presented } from './present.ts'

const change = async (context: Context, actor: Actor, { record }: Found, input: ResourceInput): Promise<Resource> => {
  const { kind, transition } = context
  const spec = ((await kind.accept?.(input.spec as never, record)) ?? input.spec ?? record.spec) as Spec
  const consequence = kind.consequence?.(record, spec)
  const written = await transition.write([
    {
      record,
      ...(consequence ? { event: { name: consequence.event, message: consequence.message } } : {}),
      change: {
        spec,
        metadata: mergeMetadata(input.metadata ?? undefined, record.metadata, actor.name),
        ...(consequence?.internal ? { internal: { ...record.internal, ...consequence.internal } } : {}),
      },
    },
  ])
  pokeAll(context, written)
  return written.resources[0] as Resource
}

/** Changes what the input names; what that means for the resource's status and machines is its kind's to say. */
export const update = async (
  context: Context,
  actor: Actor,
  name: string,
  input: ResourceInput,
  inside: Inside = {},
): Promise<Presented> => {
  const { kind, clock } = context
  await needParents(context, actor, inside)
  const given = input.metadata?.name
  if (given && given !== name)
    throw fail('invalid_argument', { field: 'metadata.name', reason: `cannot be changed from "${name}"` })
  const after = await onNewest(async () => {
    const found = await find(context, actor, name, inside)
    const state = statusOf(kind, found, clock.now())
    if (leavingStatuses(kind).includes(state))
      throw fail('wrong_state', { kind: kind.kind, name, state, wanted: 'an update' })
    return change(context, actor, found, input)
  }, attempts)
  return answer(context, await withInstances(context, kind, after))
}
