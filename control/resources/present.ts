/** A stored resource as the API answers it. */
import { s, type Out, type Shape } from '../../shared/schema.ts'
import type { ResourceEvent } from '../store/store.ts'
import { statusesOf, statusOf, type Found, type Kind, type KindFace } from './kind.ts'
import { metadataAnswer, presentMetadata } from './metadata.ts'

const eventAnswer = s.object({
  type: s.string(),
  status: s.string(),
  message: s.string(),
  time: s.string(),
  revision: s.optional(s.string()),
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

/** What the compiler knows of the answers of a kind. */
type AnswerShape<K> = s.ZodMiniObject<
  CommonAnswer & StatusAnswer<K> & { spec: SpecAnswer<K> } & MoreAnswers<K>,
  s.core.$loose
>

type Status = s.ZodMiniEnum<{ [status: string]: string }>
type StatusAnswer<K> = { status: K extends { statuses: readonly string[] } ? Status : s.ZodMiniOptional<Status> }

type CommonAnswer = {
  metadata: typeof metadataAnswer
  events: s.ZodMiniOptional<s.ZodMiniArray<typeof eventAnswer>>
}

/** Shape of one resource of the kind as answered. */
export const answerOf = <K extends Pick<KindFace, 'answers' | 'life' | 'statuses'>>(kind: K): AnswerShape<K> =>
  s.looseObject({
    metadata: metadataAnswer,
    spec: kind.answers?.spec ?? s.looseObject({}),
    ...(statusesOf(kind).length > 0 ? { status: s.enum(statusesOf(kind) as [string, ...string[]]) } : {}),
    events: s.optional(s.array(eventAnswer)),
    ...kind.answers?.more,
  }) as unknown as AnswerShape<K>

const presentEvent = ({ time, type, status, message, revision }: ResourceEvent): EventAnswer => ({
  type,
  status,
  message,
  time: new Date(time).toISOString(),
  ...(revision ? { revision } : {}),
})

export interface Presenting {
  readonly showSecrets: boolean
  readonly now: number
  readonly plan: string
  readonly url: string | undefined
  readonly events?: readonly ResourceEvent[]
}

/** The wire form of a resource; events are left out unless given. */
export const present = (kind: Kind, found: Found, options: Presenting): Presented => {
  const { record } = found
  const status = statusOf(kind, found, options.now)
  return {
    metadata: presentMetadata(record, options),
    spec: kind.presentSpec?.(record, options) ?? { ...record.spec },
    ...(status ? { status } : {}),
    ...kind.present?.(found, options),
    ...(options.events ? { events: options.events.map(presentEvent) } : {}),
  }
}
