/** What the tests of every kind begin with: its example, and the examples of what that needs. */
import { ancestorsOf } from '../../control/core/records/address.ts'
import { inputOf } from '../../control/core/records/body.ts'
import type { Kind } from '../../control/core/records/kind.ts'
import type { Answer } from './call.ts'
import type { TestControl } from './control.ts'

export interface Made {
  readonly kind: Kind
  /** Path of its collection, without `/v0`. */
  readonly collection: string
  readonly one: string
  /** The name in its address. */
  readonly name: string
  readonly answer: Answer
}

export const segmentsOf = ({ path, plural }: Kind): string => path ?? plural

/** The name by which an answer is known: whatever its kind calls it. */
export const nameOf = (kind: Kind, body: unknown): string => {
  const given = body as {
    metadata?: { name?: string; id?: string }
    id?: string
    client_id?: string
    executionId?: string
    email?: string
  }
  const name =
    given.metadata?.name ?? given.email ?? given.executionId ?? given.metadata?.id ?? given.client_id ?? given.id
  if (!name) throw new Error(`${kind.kind} answers no name: ${JSON.stringify(body)}`)
  return name
}

/** The word as a name of the kind: as it is, or as a domain. */
export const validName = ({ names }: Kind, word: string): string => {
  const forms = [word, `${word}.example.com`, `${word}@example.com`]
  const isValid = (name: string): boolean => {
    try {
      return names.check(name) === name
    } catch {
      return false
    }
  }
  return forms.find(isValid) ?? word
}

/** The example of a kind for another one, where callers give names; else the example. */
export const exampleNamed = (kind: Kind, word: string): object => {
  const { create = {} } = kind.example ?? {}
  if ('id' in create) return { ...create, id: validName(kind, word) }
  if ('email' in create) return { ...create, email: `${word}@example.com` }
  if (!('metadata' in create)) return create
  return { ...create, metadata: { ...(create.metadata as object), name: validName(kind, word) } }
}

/** Creates what the example of the kind names, unless it is there. */
const makeTargets = async (made: TestControl, kind: Kind, body: object): Promise<void> => {
  const spec = (inputOf(kind, body).spec ?? {}) as Readonly<Record<string, unknown>>
  for (const { kind: target, name } of kind.references?.(spec) ?? []) {
    const wanted = made.kinds.get(target)
    if (!wanted) throw new Error(`no kind "${target}"`)
    await makeExample(made, wanted, name)
  }
}

/** The address of its collection; what it lives inside is made when it is not there. */
export const collectionOf = async (made: TestControl, kind: Kind): Promise<string> => {
  let path = ''
  for (const ancestor of ancestorsOf(kind)) {
    const own = made.kinds.get(ancestor.kind) ?? ancestor
    path = (await makeExample(made, own, undefined)).one
  }
  return `${path}/${segmentsOf(kind)}`
}

const known = new WeakMap<TestControl, Map<string, Made>>()

/** A snapshot is made of a machine that runs, of which there is none here: it has tests of its own (e2e/snapshots.test.ts). */
export const withoutMachines = (kinds: Iterable<Kind>): Kind[] => [...kinds].filter(({ kind }) => kind !== 'snapshot')

/** Makes the example of a kind, once; under another name where one is given. */
export const makeExample = async (made: TestControl, kind: Kind, name: string | undefined): Promise<Made> => {
  const all = known.get(made) ?? new Map<string, Made>()
  known.set(made, all)
  const key = `${kind.kind}/${name ?? ''}`
  const before = all.get(key)
  if (before) return before
  const collection = await collectionOf(made, kind)
  const { create } = kind.example ?? { create: {} }
  const body =
    name === undefined ? create : { ...create, metadata: { ...(create as { metadata?: object }).metadata, name } }
  await makeTargets(made, kind, body)
  const answer = await made.call('POST', collection, body)
  if (answer.status === 409 && name === undefined) throw new Error(`the example of ${kind.kind} is there already`)
  if (answer.status !== 200 && answer.status !== 409) throw new Error(`${kind.kind}: ${answer.status} ${answer.text}`)
  const called = answer.status === 409 ? (name as string) : nameOf(kind, answer.body)
  const found = { kind, collection, one: `${collection}/${called}`, name: called, answer }
  all.set(key, found)
  if (name === undefined) all.set(`${kind.kind}/${called}`, found)
  return found
}
