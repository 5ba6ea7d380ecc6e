/** Who calls, as a workload is told. Only the gateway says so: what a client sends under these names is taken away. */
import type { WireNames } from '../../../../shared/wire-names.ts'
import type { ApiKey } from '../../../core/store/store.ts'

const suffixes = ['subject-id', 'subject-type', 'auth-method'] as const

/** Tells requests apart; a new one for each. */
export const requestIdHeader = 'x-request-id'

/** Lower-case names of the headers, in every spelling that a workload may read. */
export const identityHeaders = (names: WireNames): readonly string[] => [
  ...suffixes.flatMap(names.header),
  'x-subject-id',
  'x-subject-type',
  requestIdHeader,
]

/** The headers of all requests with a key, as a flat list; under every name. */
export type IdentityWriter = (key: Pick<ApiKey, 'id' | 'owner'>) => readonly string[]

/** A key made for a service account speaks for it; any other is its own subject, a user. */
export const identityWriter = (names: WireNames): IdentityWriter => {
  const [subjects, types, methods] = suffixes.map(names.header) as [string[], string[], string[]]
  const each = (headers: readonly string[], value: string) => headers.flatMap(name => [name, value])
  return ({ id, owner }) => [
    ...each(subjects, owner ?? id),
    ...each(types, owner === null ? 'user' : 'service_account'),
    ...each(methods, 'api_key'),
  ]
}
