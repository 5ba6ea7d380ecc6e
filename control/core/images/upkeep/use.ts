/** Which images are in use, as the records say and as the kernel does. */
import type { Images } from '../images.ts'
import type { Pulled } from '../pulled.ts'
import type { RulesByKind } from '../../transitions/rules.ts'
import { treesInUse } from '../../runtime/in-use.ts'
import type { Outline, Resource, Store } from '../../store/store.ts'

export interface UseDeps {
  readonly store: Pick<Store, 'resources' | 'instances'>
  readonly images: Pick<Images, 'remoteName' | 'trees'>
  readonly rules: RulesByKind
}

/**
 * Digests of trees that machines are made of: those that the records have, running or not, and those that are mounted. Throws `unavailable`
 * when a row does not say which one it has.
 */
export const digestsInUse = async ({ store, images, rules }: UseDeps): Promise<Set<string>> => {
  const pinned: string[] = []
  for (const { kind, pins } of rules.values())
    for (const record of pins ? await store.resources.everyOf(kind) : []) pinned.push(...(pins?.(record) ?? []))
  return new Set([...pinned, ...(await store.instances.digests()), ...treesInUse(await images.trees())])
}

export interface Users {
  /** By reference, the first record that is made of it. */
  readonly of: ReadonlyMap<string, string>
  /** The first record that may be made of any: it cannot be read, and has no machine that says it. */
  readonly unknown: string | undefined
}

/** Digests that its machines are made of; undefined where one of them does not say, or there is none. */
const digestsOf = async ({ store }: UseDeps, { uid }: Outline): Promise<ReadonlySet<string> | undefined> => {
  let isWhole = true
  const machines = await store.instances.ofOwners([uid], () => {
    isWhole = false
  })
  const digests = machines.flatMap(({ image }) => image?.digest ?? [])
  return isWhole && digests.length > 0 && digests.length === machines.length ? new Set(digests) : undefined
}

/** Who needs which of these images of a registry, in one workspace. */
export const usersOf = async (deps: UseDeps, workspace: string, pulled: readonly Pulled[]): Promise<Users> => {
  const { store, images, rules } = deps
  const of = new Map<string, string>()
  let unknown: string | undefined
  for (const { kind, workload, hiddenStatuses } of rules.values()) {
    if (!workload?.image) continue
    const isHere = (record: Outline): boolean =>
      record.workspace === workspace && !hiddenStatuses.includes(record.status)
    const torn: Outline[] = []
    const records: readonly Resource[] = await store.resources.everyOf(kind, (_uid, _error, outline) =>
      torn.push(outline),
    )
    for (const record of records.filter(isHere)) {
      const reference = images.remoteName(workload.image(record))
      if (reference) of.set(reference, `${kind} ${record.name}`)
    }
    for (const record of torn.filter(isHere)) {
      // What a machine has is kept whatever becomes of the name: its record asks for nothing else.
      const digests = await digestsOf(deps, record)
      if (!digests) unknown ??= `${kind} ${record.name}`
      else
        for (const { reference, digest } of pulled) if (digests.has(digest)) of.set(reference, `${kind} ${record.name}`)
    }
  }
  return { of, unknown }
}
