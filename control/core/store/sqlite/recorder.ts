import { sql } from 'kysely'
import type { Metered, Subject } from '../store.ts'
import { toQuanta } from '../amounts.ts'
import { resourceTypeOf } from '../../../base/dimensions.ts'
import { query, type Prepare } from './prepared.ts'

/** Opens and closes intervals, inside the transaction of the change that causes it. */
export interface Recorder {
  /** Ends what is open and opens `rates`, both at `now`; what is open ends where it was last accounted for when `lost`. */
  replace(subject: Subject, metered: Metered, now: number): void
  /** Ends what is open. */
  close(uid: string, now: number): void
  /** Records `quantity` units at a moment. */
  count(subject: Subject, dimension: string, quantity: number, now: number): void
}

interface Opening {
  uid: string
  dimension: string
  quantity: number
  from: number
  to: number | null
}

const statements = (prepare: Prepare) => ({
  addSubject: prepare((given: { uid: string; workspace: string; type: string; name: string }) =>
    query
      .insertInto('subjects')
      .values({ uid: given.uid, workspace: given.workspace, resource_type: given.type, name: given.name })
      .onConflict(conflict => conflict.doNothing()),
  ),
  addDimension: prepare((given: { name: string }) =>
    query
      .insertInto('dimensions')
      .values({ name: given.name })
      .onConflict(conflict => conflict.doNothing()),
  ),
  open: prepare((given: Opening) =>
    query.insertInto('intervals').values(values => ({
      subject: values.selectFrom('subjects').select('id').where('uid', '=', given.uid),
      dimension: values.selectFrom('dimensions').select('id').where('name', '=', given.dimension),
      quantity: given.quantity,
      from_at: given.from,
      to_at: given.to,
      accounted_to: given.from,
      rolled_to: given.from,
    })),
  ),
  // A clock that was set back must not take away what has been accounted for.
  close: prepare((given: { uid: string; now: number }) =>
    query
      .updateTable('intervals')
      .set({ to_at: sql<number>`max(${given.now}, accounted_to)` })
      .where('to_at', 'is', null)
      .where('subject', '=', from => from.selectFrom('subjects').select('id').where('uid', '=', given.uid)),
  ),
  closeLost: prepare((given: { uid: string }) =>
    query
      .updateTable('intervals')
      .set({ to_at: sql<number>`accounted_to` })
      .where('to_at', 'is', null)
      .where('subject', '=', from => from.selectFrom('subjects').select('id').where('uid', '=', given.uid)),
  ),
  lastEnd: prepare((given: { uid: string }) =>
    query
      .selectFrom('intervals')
      .where('to_at', 'is', null)
      .where('subject', '=', from => from.selectFrom('subjects').select('id').where('uid', '=', given.uid))
      .select(({ fn }) => fn.max('accounted_to').as('end')),
  ),
})

export const recorder = (prepare: Prepare): Recorder => {
  const run = statements(prepare)
  const know = ({ uid, kind, workspace, name }: Subject, dimension: string) => {
    run.addSubject.run({ uid, workspace, type: resourceTypeOf(dimension, kind), name })
    run.addDimension.run({ name: dimension })
  }
  return {
    replace(subject, { rates, lost = false }, now) {
      const { uid } = subject
      const from = Math.max(now, run.lastEnd.get({ uid })?.end ?? now)
      if (lost) run.closeLost.run({ uid })
      else run.close.run({ uid, now })
      for (const { dimension, quantity } of rates) {
        know(subject, dimension)
        run.open.run({ uid, dimension, quantity: toQuanta(quantity), from, to: null })
      }
    },
    close: (uid, now) => void run.close.run({ uid, now }),
    count(subject, dimension, quantity, now) {
      know(subject, dimension)
      // A count is an interval of one whole second: it adds up to `quantity` and lies in one hour.
      const from = Math.floor(now / 1000) * 1000
      run.open.run({ uid: subject.uid, dimension, quantity: toQuanta(quantity), from, to: from + 1000 })
    },
  }
}
