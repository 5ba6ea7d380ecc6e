/**
 * Calls and sign-ins that were denied. Those of one credential at one endpoint within a minute are one row with their number, and so
 * are those at one person's door, and all of the others: somebody who knocks does not fill the disk.
 */
import type { Clock } from '../../../../shared/clock.ts'
import type { Closing } from '../../../../shared/closing.ts'
import { messageOf } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Audit, AuditedBy, AuditEntry, Person } from '../../../core/store/store.ts'

const writtenEveryMs = 60_000

/** Rows that a minute can have; what is beyond them is counted in one more. */
const mostGroups = 500

export interface Denied extends AuditedBy {
  readonly account: string
  readonly workspace: string
  /** Id of the endpoint. */
  readonly endpoint: string
  readonly reason: string
  /** As whom somebody wanted to sign in. */
  readonly person?: Pick<Person, 'sub' | 'email'>
}

export interface Denials {
  note(denied: Denied): void
  /** Writes down what was noted. */
  flush(): Promise<void>
}

interface Group {
  readonly first: Denied
  count: number
}

const groupOf = ({ credential, account, workspace, endpoint, person }: Denied): string => {
  if (person) return JSON.stringify([person.sub, endpoint])
  return credential ? JSON.stringify([credential, account, workspace, endpoint]) : ''
}

const entryOf = ({ first, count }: Group, isRest: boolean): AuditEntry => {
  const { endpoint, reason, person, ...by } = first
  const detail = { reason, ...(count > 1 ? { count } : {}) }
  const unknown = { account: '', workspace: '', actor: '', credential: '', kind: '', name: '', uid: '' }
  return isRest
    ? { ...by, ...unknown, action: 'denied', detail: { count } }
    : person
      ? { ...by, action: 'denied', kind: 'person', name: person.email, uid: person.sub, detail }
      : { ...by, action: 'denied', kind: 'endpoint', name: endpoint, uid: '', detail }
}

export const createDenials = (
  /** `account` reads of strangers: it is the operator's. */
  deps: { audit: Pick<Audit, 'append'>; account: string; clock: Clock; log: Log },
  closer: Closing,
): Denials => {
  const { audit, account, clock, log } = deps
  let groups = new Map<string, Group>()
  const rest = 'rest'
  const flush = async (): Promise<void> => {
    const noted = groups
    groups = new Map()
    if (noted.size > 0)
      await audit.append(
        [...noted]
          .map(([name, group]) => entryOf(group, name === rest))
          .map(entry => ({ ...entry, account: entry.account || account })),
        clock.now(),
      )
  }
  const stop = clock.every(writtenEveryMs, () => {
    void flush().catch(error => log.error('audit.failed', { reason: messageOf(error), error }))
  })
  closer.add('denials', async () => {
    stop()
    await flush()
  })
  return {
    note(denied) {
      const wanted = groupOf(denied)
      const name = groups.has(wanted) || groups.size < mostGroups ? wanted : rest
      const group = groups.get(name)
      if (group) group.count++
      else groups.set(name, { first: denied, count: 1 })
    },
    flush,
  }
}
