/** What commands about people work with: the store of the data directory, whether or not a server runs on it. */
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { createMembers } from '../server/access/identity/members.ts'
import type { OperatorDeps } from '../server/access/identity/operator.ts'
import { plainKinds } from '../core/kinds/index.ts'
import { userKindName } from '../core/kinds/user.ts'
import { changes } from '../core/transitions/changes.ts'
import { transition } from '../core/transitions/transition.ts'
import type { Store } from '../core/store/store.ts'
import { withWritableStore } from './existing-store.ts'

/** A running server sees with its next request what this writes. */
export const withPeople = (dataDir: string, use: (deps: OperatorDeps, store: Store) => Promise<void>) =>
  withWritableStore(dataDir, async store => {
    const [clock, ids] = [systemClock(), randomIds()]
    // People have no machines: the kinds without a host say all that is needed of their records.
    const rules = new Map(plainKinds.map(kind => [kind.kind, kind]))
    const move = transition({ store, clock, rules, changes: changes() })
    const members = createMembers({ store, userKind: userKindName, now: clock.now, ids, transition: () => move })
    await use({ store, members, clock, ids }, store)
  })
