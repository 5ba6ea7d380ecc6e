/** What a record becomes when its image is there, or cannot be. */
import type { Kind, Spec } from '../records/kind.ts'
import { revisionsOf } from '../records/revisions.ts'
import type { Move } from '../transitions/transition.ts'
import type { Resource } from '../store/store.ts'
import { withoutSlot } from '../transitions/slot.ts'

/** What of a kind the builds ask. */
export type Buildable = Pick<Kind, 'kind' | 'life' | 'revisions' | 'createdMessage'> & {
  /** Where its spec names its image; nowhere in one that is nothing but an image. */
  readonly imageAt?: readonly string[] | undefined
}

const withMember = (spec: Spec, [name, ...rest]: readonly string[], value: string): Spec => {
  if (name === undefined) return spec
  if (rest.length === 0) return { ...spec, [name]: value }
  return { ...spec, [name]: withMember((spec[name] ?? {}) as Spec, rest, value) }
}

/** The newest revision is the one that was uploaded: it gets its image. */
const revisionsWith = (record: Resource, at: readonly string[], reference: string) => {
  const { all, ...rest } = revisionsOf(record)
  const last = all.length - 1
  return {
    ...rest,
    all: all.map((one, index) => (index === last ? { ...one, spec: withMember(one.spec, at, reference) } : one)),
  }
}

/** The image is there under that reference. */
export const builtMove = (kind: Buildable, record: Resource, reference: string): Move => {
  const at = kind.imageAt ?? []
  const spec = withMember(record.spec, at, reference)
  const internal = withoutSlot(record)
  const isOff = record.spec['enabled'] === false && kind.life?.allows(record.status, 'shelved')
  const name = isOff ? 'shelved' : 'built'
  const next = kind.life?.next(record.status, name, record)
  const why = next === 'FAILED' ? `: ${kind.createdMessage?.(spec) ?? 'it cannot run here'}` : ''
  return {
    record,
    event: { name, message: `image "${reference}" is built${why}` },
    change: {
      spec,
      internal: {
        ...internal,
        ...(kind.revisions ? { revisions: revisionsWith(record, at, reference) } : {}),
        // What ran before gives way to what was built.
        ...(kind.imageAt ? { redeploys: Number(internal['redeploys'] ?? 0) + 1 } : {}),
      },
    },
  }
}

export const brokeMove = (record: Resource, message: string): Move => ({
  record,
  event: { name: 'broke', message },
  change: { internal: withoutSlot(record) },
})
