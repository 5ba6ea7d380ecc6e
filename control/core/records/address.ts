/** Where a kind is found, and who may do what there. */
import type { Access } from '../access/access.ts'
import type { Kind, Verb } from './kind.ts'

/** Name of the path parameter of a kind. */
export const paramOf = (kind: Pick<Kind, 'kind' | 'param'>): string => kind.param ?? `${kind.kind}Name`

/** Path of the collection: `/v0/sandboxes/:sandboxName/previews`. */
export const pathOf = (kind: Pick<Kind, 'path' | 'plural' | 'parent'>): `/${string}` => {
  const { parent, path = kind.plural } = kind
  return parent ? `${pathOf(parent)}/:${paramOf(parent)}/${path}` : `/v0/${path}`
}

/** The kinds that this one lives inside, outermost first. */
export const ancestorsOf = (kind: Pick<Kind, 'parent'>): readonly Kind[] =>
  kind.parent ? [...ancestorsOf(kind.parent), kind.parent] : []

/** Who may do that with the kind. */
export const accessFor = ({ scope, access }: Pick<Kind, 'scope' | 'access'>, verb: Verb): Access => ({
  scope: `${scope}:${verb}`,
  role: 'member',
  ...access[verb],
})
