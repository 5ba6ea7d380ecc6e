/** The short-lived name of a file that is about to take the name it is written for. */
import type { Ids } from '../../../shared/ids.ts'

const pattern = /^\.hutch-(new|next)-[a-z0-9]{12}$/

/** `replaces`: a file has the name already, which is what a watch reports the rename as. */
export const draftName = (ids: Ids, { replaces }: { readonly replaces: boolean }): string =>
  `.hutch-${replaces ? 'next' : 'new'}-${ids.short(12)}`

/** What becomes of a file of this name: a new file, or the next content of one that exists. Undefined for any other name. */
export const draftKind = (name: string): 'new' | 'next' | undefined =>
  pattern.exec(name)?.[1] as 'new' | 'next' | undefined
