/** A stored resource as the API answers it. */
import { s, type Out, type Shape } from '../../../shared/schema.ts'
import type { ResourceEvent } from '../store/store.ts'
import { statusesOf, statusOf, type Found, type Kind } from './kind.ts'
import { metadataAnswerOf, presentMetadata, type metadataAnswer } from './metadata.ts'
import { openSpec } from './sealing.ts'

const eventAnswer = s.object({
  type: s.string(),
  status: s.string(),
  message: s.string(),
  time: s.string(),
  revision: s.optional(s.string()),
  canaryRevision: s.optional(s.string()),
})

type EventAnswer = Out<typeof eventAnswer>

/** A resource as answered: the wire form of every kind. */
export interface Presented {
  readonly metadata: ReturnType<typeof presentMetadata>
  readonly spec: Record<string, unknown>
  /** Absent for kinds without one. */
  readonly status?: string
  readonly events?: EventAnswer[]
  readonly [more: string]: unknown
}

type SpecAnswer<K> = K extends { answers: { spec: infer S extends Shape } } ? S : s.ZodMiniObject<{}, s.core.$loose>
type MoreAnswers<K> = K extends { answers: { more: infer M extends Readonly<Record<string, Shape>> } } ? M : {}
type Status = s.ZodMiniEnum<{ [status: string]: string }>
type StatusAnswer<K> = { status: K extends { statuses: readonly string[] } ? Status : s.ZodMiniOptional<Status> }

/** What the compiler knows of the answers of a kind. */
export type AnswerShape<K> = s.ZodMiniObject<
  {
    metadata: typeof metadataAnswer
    events: s.ZodMiniOptional<s.ZodMiniArray<typeof eventAnswer>>
  } & StatusAnswer<K> & { spec: SpecAnswer<K> } & MoreAnswers<K>,
  s.core.$loose
>

const hasStatus = (kind: Kind): boolean => statusesOf(kind).length > 0 && kind.statusMember === undefined

/** Shape of one resource of the kind as answered. */
export const answerOf = (kind: Kind): Shape =>
  kind.wire?.answer ??
  s.looseObject({
    metadata: metadataAnswerOf(kind.metadata),
    spec: kind.answers?.spec ?? s.looseObject({}),
    ...(hasStatus(kind) ? { status: s.enum(statusesOf(kind) as [string, ...string[]]) } : {}),
    ...(kind.life ? { events: s.optional(s.array(eventAnswer)) } : {}),
    ...(kind.usage.length > 0 ? { usage: s.object(Object.fromEntries(kind.usage.map(name => [name, s.int()]))) } : {}),
    ...kind.answers?.more,
  })

const presentEvent = ({ time, type, status, message, revision, canaryRevision }: ResourceEvent): EventAnswer => ({
  type,
  status,
  message,
  time: new Date(time).toISOString(),
  ...(revision ? { revision } : {}),
  ...(canaryRevision ? { canaryRevision } : {}),
})

export interface Presenting {
  readonly showSecrets: boolean
  readonly now: number
  readonly plan: string
  readonly url: string | undefined
  readonly open: (sealed: string) => string
  readonly events?: readonly ResourceEvent[]
  /** How many resources name it, by the plural of their kind. */
  readonly usage?: Readonly<Record<string, number>>
  readonly holder?: string | undefined
  /** When it was last used, epoch ms. */
  readonly lastUsedAt?: number
}

/** The record as everybody may see it who may see it at all: with its secrets masked unless they are asked for. */
const masked = (kind: Kind, { record }: Found, { showSecrets, open }: Presenting): Found['record'] => {
  if (kind.sealed.length === 0) return record
  return { ...record, spec: openSpec(record.spec, kind.sealed, showSecrets ? open : undefined) }
}

/** The standard form of a resource; events are left out unless given. */
export const present = (kind: Kind, found: Found, options: Presenting): Presented => {
  const record = masked(kind, found, options)
  const status = statusOf(kind, found, options.now)
  const { statusMember, usage } = kind
  const spec = kind.presentSpec?.(record, options) ?? { ...record.spec }
  return {
    metadata: presentMetadata(record, kind.metadata, options),
    spec: statusMember ? { ...spec, [statusMember]: status } : spec,
    ...(status && !statusMember ? { status } : {}),
    ...(options.lastUsedAt ? { lastUsedAt: new Date(options.lastUsedAt).toISOString() } : {}),
    ...kind.present?.(found, options),
    ...(options.events && kind.life && !statusMember ? { events: options.events.map(presentEvent) } : {}),
    ...(usage.length > 0 ? { usage: Object.fromEntries(usage.map(name => [name, options.usage?.[name] ?? 0])) } : {}),
  }
}

/** The form that is answered: the kind's own where it has one. */
export const rendered = ({ wire }: Kind, standard: Presented, { record }: Found): Presented =>
  wire ? (wire.render(standard, record) as Presented) : standard
