/** What is known of a record's use and troubles: from the instances it has, and from those it had. */
import type { Instance, InstanceError, Resource } from '../store/store.ts'

export interface History {
  /** Last resume or suspend of any of them, epoch ms; undefined when none ever ran. */
  readonly turnedAt: number | undefined
  readonly lastUsedAt: number | undefined
  /** Oldest first. */
  readonly errors: readonly InstanceError[]
}

const errorsKept = 20

/** The newest of a list of errors, with one more. */
export const withError = (errors: readonly InstanceError[], error: InstanceError): InstanceError[] =>
  [...errors, error].slice(-errorsKept)

const later = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one

/** Of the record, with the instances it has now. */
export const historyOf = ({ internal }: Pick<Resource, 'internal'>, instances: readonly Instance[]): History => {
  let { turnedAt, lastUsedAt, errors = [] } = internal as Partial<History>
  for (const instance of instances) {
    turnedAt = later(turnedAt, instance.turnedAt)
    lastUsedAt = later(lastUsedAt, instance.lastUsedAt)
    if (instance.errors.length > 0) errors = [...errors, ...instance.errors].slice(-errorsKept)
  }
  return { turnedAt, lastUsedAt, errors }
}

/** What the record remembers (`internal`) when one of its instances goes. */
export const remembering = (record: Pick<Resource, 'internal'>, gone: Instance): Resource['internal'] => ({
  ...record.internal,
  ...historyOf(record, [gone]),
})
