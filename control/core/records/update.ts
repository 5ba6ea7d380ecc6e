import { fail, isError } from '../../../shared/errors.ts'
import { leavingStatuses } from '../transitions/rules.ts'
import { onNewest } from '../transitions/transition.ts'
import type { Resource } from '../store/store.ts'
import { accepted } from './accepted.ts'
import { inputOf, type ResourceInput } from './body.ts'
import {
  answer,
  around,
  attempts,
  find,
  pokeAll,
  withInstances,
  type Actor,
  type Context,
  type Writing,
} from './context.ts'
import { slotOf, waitsForUpload, type Slot } from '../transitions/slot.ts'
import { create } from './create.ts'
import { statusOf, toldOnce, type Around, type Consequence, type Found, type Generated, type Kind } from './kind.ts'
import { mergeMetadata } from './metadata.ts'
import type { Presented } from './present.ts'
import { revise, type Revised } from './revisions.ts'

const eventOf = ({ event: name, message }: Consequence, revised: Revised | undefined) => ({
  name,
  message,
  ...(revised ? { revisions: revised.of } : {}),
})

interface Changed {
  readonly after: Resource
  readonly generated: Generated | undefined
}

/** What it has run until now goes on until what is uploaded has been built. */
const uploading = ({ workload }: Kind, record: Resource, upload: Slot): Consequence => {
  const serves = slotOf(record)?.serves ?? (workload?.wanted(record) ?? []).length > 0
  return { event: 'upload', message: waitsForUpload, internal: { build: { ...upload, serves } } }
}

const change = async (
  context: Context,
  actor: Actor,
  { record }: Found,
  [input, here, upload]: readonly [ResourceInput, Around, Slot | undefined],
): Promise<Changed> => {
  const { kind, transition, ids, sealer } = context
  const plain = await accepted(context, input.spec, record, here)
  const generated = kind.generate?.(plain, record, { ids, sealer })
  const accept = generated?.spec ?? plain
  const revised =
    kind.revisions &&
    revise(kind.revisions, accept, record, {
      ids,
      now: here.now,
      name: actor.name,
      anew: upload !== undefined,
    })
  const spec = revised?.spec ?? accept
  const storageMb = (of: Pick<Resource, 'spec'>) => kind.workload?.storageMb?.(of) ?? 0
  const more = storageMb({ spec }) - storageMb(record)
  if (more > 0) await context.entry?.grow(more)
  const consequence = upload ? uploading(kind, record, upload) : kind.consequence?.(record, spec)
  const internal = {
    ...record.internal,
    ...consequence?.internal,
    ...(revised ? { revisions: revised.revisions } : {}),
  }
  const written = await transition.write([
    {
      record,
      ...(consequence ? { event: eventOf(consequence, revised) } : {}),
      change: {
        spec,
        metadata: mergeMetadata(input.metadata ?? undefined, record.metadata, actor.name),
        internal,
      },
    },
  ])
  pokeAll(context, written)
  return { after: written.resources[0] as Resource, generated }
}

/** The name in the address says which one; a body that says otherwise is wrong. */
const checkName = (name: string, given: string | null | undefined): void => {
  if (given && given !== name)
    throw fail('invalid_argument', { field: 'metadata.name', reason: `cannot be changed from "${name}"` })
}

/** Changes what the body names; what that means for the resource's status and machines is its kind's to say. */
export const update = async (
  context: Context,
  actor: Actor,
  name: string,
  body: unknown,
  inside: Writing = {},
): Promise<Presented> => {
  const { kind, clock } = context
  const input = inputOf(kind, body)
  const here = await around(context, actor, inside)
  checkName(name, input.metadata?.name)
  const step = async () => {
    const found = await find(context, actor, name, inside)
    const state = statusOf(kind, found, clock.now())
    if (leavingStatuses(kind).includes(state))
      throw fail('wrong_state', { kind: kind.kind, name, state, wanted: 'an update' })
    return change(context, actor, found, [input, here, inside.upload])
  }
  try {
    const { after, generated } = await onNewest(step, attempts)
    return toldOnce(await answer(context, await withInstances(context, kind, after)), generated)
  } catch (error) {
    if (!kind.upsert || !isError(error, 'not_found')) throw error
    const named = { ...input, metadata: { ...input.metadata, name } }
    return await create(context, actor, named, inside).catch((refused: unknown) => {
      // Somebody else made it in between: then it can be changed.
      if (isError(refused, 'already_exists')) return update(context, actor, name, body, inside)
      throw refused
    })
  }
}
