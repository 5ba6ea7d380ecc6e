/** What a new record is given that its creator did not send: a secret that is told once, a key, records inside it. */
import type { Ids } from '../../../shared/ids.ts'
import type { Draft } from '../transitions/moves.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { ApiKey, IdentityChange } from '../store/store.ts'
import type { Around } from './kind.ts'

/** An API key that lives as long as its record; the rest of it follows from the workspace. */
export type Credential = Pick<ApiKey, 'hash' | 'name' | 'role' | 'expiresAt' | 'scopes'>

export interface Issued {
  /** Members of the answer to the create, and of no other one. */
  readonly told?: Readonly<Record<string, unknown>>
  /** In place of the name it has. */
  readonly name?: string
  /** Members of the spec. */
  readonly spec?: Readonly<Record<string, unknown>>
  readonly credential?: Credential
  /** What of people is written with it. */
  readonly changes?: readonly IdentityChange[]
  /** Records that are made inside it, in the same transaction. */
  readonly inside?: readonly Pick<Draft, 'kind' | 'name' | 'spec'>[]
}

export type Issue = (draft: Draft, around: Around & { readonly ids: Ids; readonly sealer: Sealer }) => Issued
