/** Where which key was let in, for the next request there: on another connection, or with other fields. */
import type { Turn } from '../../../../../shared/lane/turn.ts'
import { hashKey } from '../../../../core/access/keys.ts'
import type { WorkloadAddress } from '../address.ts'
import type { Admission } from './again.ts'

/** Beyond, all are forgotten and it begins anew. */
const most = 1_000

export interface Admissions {
  of(sent: string, turn: Pick<Turn, 'request'>, address: WorkloadAddress): Admission | undefined
  keep(sent: string, turn: Pick<Turn, 'request'>, address: WorkloadAddress, admission: Admission): void
}

/** By hash: what lies in memory is no credential. A base says all of a place only together with the host name that is one. */
const nameOf = (sent: string, { request }: Pick<Turn, 'request'>, { form, base }: WorkloadAddress): string =>
  `${hashKey(sent)} ${form === 'host' ? request.headers.host : ''} ${base}`

export const createAdmissions = (): Admissions => {
  const all = new Map<string, Admission>()
  return {
    of: (sent, turn, address) => all.get(nameOf(sent, turn, address)),
    keep(sent, turn, address, admission) {
      if (all.size >= most) all.clear()
      all.set(nameOf(sent, turn, address), admission)
    },
  }
}
