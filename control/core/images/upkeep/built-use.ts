/** Which images that a workspace has built are in use: by what a record names now, and by what one of its kept revisions does. */
import type { BuiltImage } from '../built.ts'
import type { Images } from '../images.ts'
import type { Kind, Spec } from '../../records/kind.ts'
import { revisionsOf } from '../../records/revisions.ts'
import type { Rules } from '../../transitions/rules.ts'
import type { Store } from '../../store/store.ts'

interface Deps {
  readonly store: Pick<Store, 'resources'>
  readonly images: Pick<Images, 'keyOf' | 'built'>
  readonly rules: ReadonlyMap<string, Rules & Partial<Pick<Kind, 'imageAt'>>>
}

const memberAt = (spec: Spec, at: readonly string[]): unknown =>
  at.reduce<unknown>((value, name) => (value as Spec | undefined | null)?.[name], spec)

/**
 * By the key of an image, the first record that needs it. `torn` is told of a record of the workspace that cannot be read, which may
 * need any.
 */
export const builtUsers = async (
  { store, images, rules }: Deps,
  workspace: string,
  torn: (error: unknown) => void,
): Promise<Map<string, string>> => {
  const users = new Map<string, string>()
  for (const { kind, imageAt, hiddenStatuses } of rules.values()) {
    if (!imageAt) continue
    const records = await store.resources.everyOf(kind, (_uid, error, outline) => {
      if (outline.workspace === workspace && !hiddenStatuses.includes(outline.status)) torn(error)
    })
    for (const record of records) {
      if (record.workspace !== workspace || hiddenStatuses.includes(record.status)) continue
      for (const spec of [record.spec, ...revisionsOf(record).all.map(revision => revision.spec)]) {
        const named = memberAt(spec, imageAt)
        const key = typeof named === 'string' ? images.keyOf(named) : undefined
        if (key !== undefined) users.set(key, `${kind} ${record.name}`)
      }
    }
  }
  return users
}

/** Those that nothing needs, none while a record cannot be read; an image whose other tag is needed loses only the others. */
export const unusedBuilt = async (deps: Deps, workspace: string): Promise<BuiltImage[]> => {
  let isKnown = true
  const users = await builtUsers(deps, workspace, () => {
    isKnown = false
  })
  if (!isKnown) return []
  return (await deps.images.built.list(workspace)).filter(({ reference }) => !users.has(reference))
}
