import type { Draft, Move } from '../transitions/transition.ts'
import type { Context } from './context.ts'

/** Removes whoever has what a new record claims. */
export const displacing = async ({ kind, store }: Context, { workspace, spec, name }: Draft): Promise<Move[]> => {
  const claims = kind.claims?.(spec, name) ?? []
  const holders = await Promise.all(claims.map(claim => store.resources.claimant(kind.kind, workspace, claim)))
  const found = holders.filter(holder => holder !== undefined)
  return [...new Map(found.map(holder => [holder.uid, holder])).values()].map(remove => ({ remove }))
}
