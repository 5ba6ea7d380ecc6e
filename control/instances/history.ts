/** What is known of a record's use and troubles: from the instances it has, and from those it had. */
import type { Instance, InstanceError, Resource } from '../store/store.ts'

export interface History {
  /** Last resume or suspend of any of them, epoch ms. */
  readonly turnedAt?: number
  readonly lastUsedAt?: number
  /** Oldest first. */
  readonly errors: readonly InstanceError[]
}

const errorsKept = 20

/** The newest of a list of errors, with one more. */
export const withError = (errors: readonly InstanceError[], error: InstanceError): InstanceError[] =>
  [...errors, error].slice(-errorsKept)

const latest = (times: readonly (number | undefined)[]): number | undefined =>
  times.reduce((last, time) => (last === undefined || (time !== undefined && time > last) ? time : last), undefined)

/** Of the record, with the instances it has now. */
export const historyOf = ({ internal }: Pick<Resource, 'internal'>, instances: readonly Instance[]): History => {
  const past = internal as Partial<History>
  const turnedAt = latest([past.turnedAt, ...instances.map(instance => instance.turnedAt)])
  const lastUsedAt = latest([past.lastUsedAt, ...instances.map(instance => instance.lastUsedAt)])
  return {
    ...(turnedAt === undefined ? {} : { turnedAt }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
    errors: [...(past.errors ?? []), ...instances.flatMap(({ errors }) => errors)].slice(-errorsKept),
  }
}

/** What the record remembers (`internal`) when one of its instances goes. */
export const remembering = (record: Pick<Resource, 'internal'>, gone: Instance): Resource['internal'] => ({
  ...record.internal,
  ...historyOf(record, [gone]),
})
