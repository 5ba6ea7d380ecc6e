/** Which images are in use, as the records say and as the kernel does. */
import type { Images } from '../images/images.ts'
import type { RulesByKind } from '../reconcile/rules.ts'
import { treesInUse } from '../runtime/in-use.ts'
import type { Store } from '../store/store.ts'

export interface UseDeps {
  readonly store: Pick<Store, 'resources' | 'instances'>
  readonly images: Pick<Images, 'remoteName' | 'trees'>
  readonly rules: RulesByKind
}

/** Digests of trees that machines are made of: those that the records have, running or not, and those that are mounted. */
export const digestsInUse = async ({ store, images }: UseDeps): Promise<Set<string>> => {
  const recorded = (await store.instances.every()).flatMap(({ image }) => (image ? [image.digest] : []))
  return new Set([...recorded, ...treesInUse(await images.trees())])
}

/** Who needs which image of a registry, in one workspace: by reference, the first record that is made of it. */
export const usersOf = async ({ store, images, rules }: UseDeps, workspace: string): Promise<Map<string, string>> => {
  const users = new Map<string, string>()
  for (const { kind, workload, hiddenStatuses } of rules.values()) {
    if (!workload?.image) continue
    for (const record of await store.resources.everyOf(kind)) {
      if (record.workspace !== workspace || hiddenStatuses.includes(record.status)) continue
      const reference = images.remoteName(workload.image(record))
      if (reference) users.set(reference, `${kind} ${record.name}`)
    }
  }
  return users
}
