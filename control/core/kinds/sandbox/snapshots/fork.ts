/** New sandboxes from a snapshot: each succeeds or fails alone. */
import { fail, isError } from '../../../../../shared/errors.ts'
import { parse, s, text, type Out } from '../../../../../shared/schema.ts'
import { bodyOf } from '../../../records/body.ts'
import { keyOf, type Actor, type Context } from '../../../records/context.ts'
import { create } from '../../../records/create.ts'
import type { Kind } from '../../../records/kind.ts'
import { mask } from '../../../records/sealing.ts'
import { env } from '../spec.ts'
import type { Resource } from '../../../store/store.ts'
import { storedSnapshot } from './stored.ts'

/** At once. */
const mostForks = 100

export const forkBody = s.object({
  /** Free text, as clients know it. */
  targetType: s.nullish(text(49)),
  targetName: s.nullish(text(49)),
  snapshotId: s.nullish(text(64)),
  port: s.nullish(s.int().check(s.gte(1), s.lte(65_535))),
  customDomain: s.nullish(text(253)),
  prefix: s.nullish(text(49)),
  traffic: s.nullish(s.int().check(s.gte(0), s.lte(100))),
  envs: s.nullish(s.array(env).check(s.maxLength(1000))),
  count: s.nullish(s.int().check(s.gte(1), s.lte(mostForks))),
})

type Given = Out<typeof forkBody>

export interface ForkBody extends Given {
  readonly targetName: string
}

/** Throws `invalid_argument` for what is missing, and `not_available` for a target that this host cannot make. */
export const forkFrom = (body: unknown): ForkBody => {
  const given = (body ?? {}) as Given
  const { targetType, targetName } = given
  if (!targetName) throw fail('invalid_argument', { field: 'targetName', reason: 'is missing' })
  if (targetType && targetType !== 'sandbox')
    throw fail('not_available', { what: `forks whose targetType is "${targetType}"; fork into a sandbox` })
  return { ...given, targetName }
}

const one = s.object({ type: s.string(), name: s.string(), snapshotId: s.string() })

export const forkAnswer = s.union([
  one,
  s.object({
    results: s.array(
      s.union([s.object({ name: s.string() }), s.object({ name: s.string(), error: s.string(), code: s.string() })]),
    ),
    snapshotId: s.string(),
  }),
])

/** The same context for another kind. */
export const forKind = (context: Context, name: string): Context => {
  const kind = context.kinds.get(name)
  if (!kind) throw new Error(`this host has no ${name}s`)
  return { ...context, kind }
}

/** Throws `already_exists` where a fork of that name would: before anything is saved for it. */
export const needFree = async (context: Context, actor: Actor, { targetName, count }: ForkBody): Promise<void> => {
  const { kind, store } = forKind(context, 'sandbox')
  if (count) return
  const holder = await store.resources.get(
    keyOf({ ...context, kind }, actor, kind.names.check(targetName, 'targetName')),
  )
  if (holder && !kind.replaceableStatuses.includes(holder.status))
    throw fail('already_exists', { kind: kind.kind, name: targetName })
}

/** The source's variables with those that are given; secrets stay sealed as they are. */
const environment = (snapshot: Resource, envs: ForkBody['envs']) => {
  if (!envs?.length) return {}
  const before = (storedSnapshot(snapshot).sandbox.runtime.envs ?? []).map(one =>
    'sealed' in one ? { name: one.name, value: mask, secret: true } : { ...one },
  )
  const given = new Set(envs.map(({ name }) => name))
  return { runtime: { envs: [...before.filter(({ name }) => !given.has(name)), ...envs] } }
}

const forkOne = async (
  context: Context,
  actor: Actor,
  snapshot: Resource,
  [name, envs]: readonly [string, ForkBody['envs']],
) => {
  const kind: Kind = context.kind
  const spec = { fromSnapshot: storedSnapshot(snapshot).id, ...environment(snapshot, envs) }
  await create(context, actor, parse(bodyOf(kind), { metadata: { name }, spec }, 'body'))
}

/** One fork of that name, or `count` of them with it as the beginning of theirs. */
export const fork = async (
  context: Context,
  actor: Actor,
  snapshot: Resource,
  body: ForkBody,
): Promise<Out<typeof forkAnswer>> => {
  const { targetName, count, envs } = body
  const { id } = storedSnapshot(snapshot)
  const sandboxes = forKind(context, 'sandbox')
  if (snapshot.status !== 'ready')
    throw fail('wrong_state', { kind: 'snapshot', name: snapshot.name, state: snapshot.status, wanted: 'a fork' })
  if (!count) {
    await forkOne(sandboxes, actor, snapshot, [targetName, envs])
    return { type: 'sandbox', name: targetName, snapshotId: id }
  }
  const results = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const name = `${targetName}-${at + 1}`
      try {
        await forkOne(sandboxes, actor, snapshot, [name, envs])
        return { name }
      } catch (error) {
        if (!isError(error)) throw error
        return { name, error: error.message, code: error.code }
      }
    }),
  )
  return { results, snapshotId: id }
}
