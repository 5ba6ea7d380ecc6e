import type { Move } from '../transitions/transition.ts'
import type { Resource } from '../store/store.ts'
import type { Context } from './context.ts'

/** Records inside one other that an event reaches; more than a kind allows to be made are not looked for. */
const mostInside = 10_000

/** Moves of what lives inside a record and shares its event, where its own table has that event. */
export const carried = async ({ store, kinds, kind }: Context, record: Resource, event: string): Promise<Move[]> => {
  const moves: Move[] = []
  for (const inner of kinds.values()) {
    if (inner.parent?.kind !== kind.kind || !inner.sharesEvents?.includes(event)) continue
    const parent = record.parent ? `${record.parent}/${record.name}` : record.name
    const asked = { kind: inner.kind, workspace: record.workspace, parent, sort: 'name:asc' as const }
    const { items } = await store.resources.list({ ...asked, limit: mostInside })
    for (const one of items)
      if (inner.life?.allows(one.status, event))
        moves.push({ record: one, event: { name: event, message: `${inner.kind} ${one.name}: ${event}` } })
  }
  return moves
}
