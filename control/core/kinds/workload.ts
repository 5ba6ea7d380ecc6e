/** What specs of agents, functions and jobs have in common. */
import { s, text, type Shape } from '../../../shared/schema.ts'
import type { Kind } from '../records/kind.ts'
import { mask } from '../records/sealing.ts'
import { env, port } from './sandbox/spec.ts'
import { volumeKindName } from '../storage/volumes/records.ts'
import type { Reference } from '../store/store.ts'
import { isCron } from './cron.ts'
import { revisionConfig } from './revisions.ts'
import { nameList } from './shapes.ts'

const whole = (min: number, max: number) => s.nullish(s.int().check(s.gte(min), s.lte(max)))

const task = s.record(text(256), s.unknown())

const trigger = s.object({
  id: s.nullish(text(64)),
  type: s.enum(['http', 'http-async', 'cron']),
  enabled: s.nullish(s.boolean()),
  configuration: s.nullish(
    s.object({
      authenticationType: s.nullish(text(63)),
      callbackUrl: s.nullish(text(2048)),
      path: s.nullish(text(1024)),
      retry: whole(0, 100),
      schedule: s.nullish(text(256).check(s.refine(isCron, 'must be five fields of cron, such as 0 9 * * 1-5'))),
      tasks: s.nullish(s.array(task).check(s.maxLength(1000))),
      timeout: whole(0, 900),
    }),
  ),
})

/** Bodies of a list of tasks. */
export const tasks = s.array(task).check(s.maxLength(1000))

/** A shell line, or a program with its arguments; the image's own command unless given. */
export const runtimeEntrypoint = s.nullish(
  s.union([text(32_768).check(s.minLength(1)), s.array(text(4_096)).check(s.minLength(1), s.maxLength(64))], {
    error: 'must be a shell line, or a list of words: a program and its arguments',
  }),
)

/** Members of every runtime, and of one kind's. */
export const runtimeOf = <M extends Record<string, Shape>>(more: M) =>
  s.object({
    entrypoint: runtimeEntrypoint,
    envs: s.nullish(s.array(env).check(s.maxLength(1000))),
    generation: s.nullish(s.enum(['mk2', 'mk3'])),
    image: s.nullish(text(512)),
    memory: whole(64, 262_144),
    ports: s.nullish(s.array(port).check(s.maxLength(100))),
    ...more,
  })

/** Of runtimes that serve calls. */
export const serving = { concurrency: whole(1, 1000), maxScale: whole(0, 1000), minScale: whole(0, 1000) }

/** Members of every spec, and of one kind's. */
export const specOf = <M extends Record<string, Shape>>(more: M) =>
  s.object({
    enabled: s.nullish(s.boolean()),
    policies: nameList,
    region: s.nullish(text(63)),
    revision: s.nullish(revisionConfig),
    triggers: s.nullish(s.array(trigger).check(s.maxLength(100))),
    ...more,
  })

type Spec = Readonly<Record<string, unknown>>
type Trigger = Readonly<Record<string, unknown>> & { readonly id?: string; readonly type: string }

/** Triggers with an id each, all different, and on unless told. */
const numbered = (triggers: readonly Trigger[]): Trigger[] => {
  const taken = new Set<string>()
  return triggers.map((one, at) => {
    const base = one.id || `${one.type}-${at + 1}`
    let id = base
    for (let next = 2; taken.has(id); next++) id = `${base}-${next}`
    taken.add(id)
    return { enabled: true, ...one, id }
  })
}

export const withTriggers = (spec: Spec): Spec =>
  spec['triggers'] ? { ...spec, triggers: numbered(spec['triggers'] as readonly Trigger[]) } : spec

type Configuration = Readonly<Record<string, unknown>>

const configurationOf = (trigger: Trigger): Configuration => (trigger['configuration'] ?? {}) as Configuration

const triggersOf = (spec: Spec): readonly Trigger[] => (spec['triggers'] ?? []) as readonly Trigger[]

/** The spec with what `value` gives for each trigger by its id as its secret; undefined leaves a trigger as it is. */
const withSecrets = (spec: Spec, value: (id: string) => string | undefined): Spec => ({
  ...spec,
  triggers: triggersOf(spec).map(one => {
    const secret = value(one.id ?? '')
    return secret === undefined ? one : { ...one, configuration: { ...configurationOf(one), callbackSecret: secret } }
  }),
})

/** A trigger that calls back signs what it sends with a secret of its own, which stays as long as the trigger calls back. */
export const callbackSecrets: NonNullable<Kind['generate']> = (spec, previous, { ids, sealer }) => {
  const before = new Map(triggersOf(previous?.spec ?? {}).map(one => [one.id, configurationOf(one)['callbackSecret']]))
  const calling = triggersOf(spec).filter(one => one.type === 'http-async' && configurationOf(one)['callbackUrl'])
  const fresh = new Map<string, string>()
  const sealed = new Map<string, string>()
  for (const { id = '' } of calling) {
    const kept = before.get(id) as string | undefined
    if (!kept) fresh.set(id, ids.secret(32))
    sealed.set(id, kept ?? sealer.seal(fresh.get(id) as string))
  }
  if (sealed.size === 0) return { spec, told: shown => shown }
  return { spec: withSecrets(spec, id => sealed.get(id)), told: shown => withSecrets(shown, id => fresh.get(id)) }
}

/** Nobody is shown them again. */
export const hiddenCallbackSecrets = (spec: Spec): Spec => {
  const has = new Set(triggersOf(spec).flatMap(one => (configurationOf(one)['callbackSecret'] ? [one.id] : [])))
  return has.size > 0 ? withSecrets(spec, id => (has.has(id) ? mask : undefined)) : spec
}

/** Volumes that a spec attaches; they have to be there. */
export const namedVolumes = (spec: Spec): Reference[] =>
  ((spec['volumes'] ?? []) as readonly { name: string; type?: string }[]).flatMap(({ name, type }, at) =>
    type === 'ephemeral'
      ? []
      : [{ field: `spec.volumes.${at}.name`, kind: volumeKindName, parent: '', name, exclusive: true }],
  )
