import { fail, isError } from '../../shared/errors.ts'
import { onNewest, type Draft } from '../reconcile/transition.ts'
import { leavingStatuses } from '../reconcile/rules.ts'
import type { Resource } from '../store/store.ts'
import type { ResourceInput } from './body.ts'
import {
  answer,
  attempts,
  find,
  keyOf,
  needParents,
  pathTo,
  pokeAll,
  withInstances,
  type Actor,
  type Context,
  type Inside,
} from './context.ts'
import { statusOf, type Found, type Spec } from './kind.ts'
import { checkName, mergeMetadata } from './metadata.ts'
import type { Presented } from './present.ts'

export interface CreateOptions extends Inside {
  /** Answers the one there is instead of failing with `already_exists`. */
  readonly createIfNotExist?: boolean
}

/** Whether whoever holds the name keeps it. Asked to make sure that one exists, one on its way out is as good as gone. */
const keepsName = ({ kind, clock }: Context, holder: Found, createIfNotExist: boolean): boolean => {
  const status = statusOf(kind, holder, clock.now())
  return !kind.replaceableStatuses.includes(status) && !(createIfNotExist && leavingStatuses(kind).includes(status))
}

const draftOf = async (
  context: Context,
  actor: Actor,
  name: string,
  input: ResourceInput,
  parents?: readonly string[],
) => {
  const { kind, ids } = context
  const draft: Draft = {
    uid: ids.uuid(),
    kind: kind.kind,
    workspace: actor.workspace,
    parent: pathTo(parents),
    name,
    metadata: mergeMetadata(input.metadata ?? undefined, undefined, actor.name),
    spec: ((await kind.accept?.(input.spec as never, undefined)) ?? input.spec ?? {}) as Spec,
  }
  return draft
}

/** Stores a new resource, in the place of one that is over. */
export const create = async (
  context: Context,
  actor: Actor,
  input: ResourceInput,
  options: CreateOptions = {},
): Promise<Presented> => {
  const { kind, ids, store, transition } = context
  const { parents, createIfNotExist = false } = options
  const name = input.metadata?.name ? checkName(input.metadata.name) : `${kind.kind}-${ids.short(8)}`
  await needParents(context, actor, options)
  const found = await onNewest(async (): Promise<Found> => {
    const record = await store.resources.get(keyOf(context, actor, name, parents))
    const holder = record && (await withInstances(context, kind, record))
    if (holder && keepsName(context, holder, createIfNotExist)) {
      if (createIfNotExist) return holder
      throw fail('already_exists', { kind: kind.kind, name })
    }
    const draft = await draftOf(context, actor, name, input, parents)
    try {
      const written = await transition.write([
        ...(holder ? [{ remove: holder.record }] : []),
        { create: draft, message: `${kind.kind} ${name} created` },
      ])
      pokeAll(context, written)
      return { record: written.resources.at(-1) as Resource, instances: [] }
    } catch (error) {
      // Somebody else was first: that one is what was asked for.
      if (createIfNotExist && isError(error, 'already_exists')) return find(context, actor, name, options)
      throw error
    }
  }, attempts)
  return answer(context, found)
}
