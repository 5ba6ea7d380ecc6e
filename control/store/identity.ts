import type { AuditEntry } from './audit.ts'

/** What signing in remembers. Secrets come here hashed or sealed; this only keeps them. */

/** A record of the OAuth provider: a grant, a session, a code, a refresh token, a registered client. */
export interface OAuthRecord {
  readonly type: string
  /** Hash of the identifier, which is often the secret itself. */
  readonly id: string
  /** Sealed JSON. */
  readonly payload: string
  readonly grantId: string | null
  readonly uid: string | null
  readonly userCode: string | null
  /** Epoch ms. */
  readonly consumedAt: number | null
  /** Epoch ms; null for one that does not end. */
  readonly expiresAt: number | null
}

export interface SigningKey {
  readonly kid: string
  /** A private JWK, sealed. */
  readonly sealed: string
  readonly createdAt: number
}

/** Somebody who signs in here. */
export interface Person {
  readonly sub: string
  readonly account: string
  /** Lower case. */
  readonly email: string
  readonly name: string
  /** What scrypt made of it; null for one without a password. */
  readonly password: string | null
  readonly accountAdmin: boolean
  readonly createdAt: number
}

/** What a secret in an address is good for, once. */
export interface Link {
  readonly hash: string
  readonly purpose: string
  /** Whom or what it is for; '' for nobody in particular. */
  readonly subject: string
  readonly expiresAt: number
}

export interface Identity {
  person(by: 'sub' | 'email', value: string): Promise<Person | undefined>
  hasPeople(): Promise<boolean>
  /** Takes the link `hash` with it, and throws `not_found` when it was taken; `already_exists` for an address that is somebody's. */
  addPerson(person: Person, hash: string, audit: AuditEntry): Promise<void>
  /** In the place of those for the same. */
  putLink(link: Link): Promise<void>
  link(hash: string, now: number): Promise<Link | undefined>

  oauthRecord(type: string, by: 'id' | 'uid' | 'userCode', value: string): Promise<OAuthRecord | undefined>
  /** In the place of one with the same id. */
  putOAuthRecord(record: OAuthRecord): Promise<void>
  consumeOAuthRecord(type: string, id: string, now: number): Promise<void>
  removeOAuthRecord(type: string, id: string): Promise<void>
  /** Everything that was given out under a grant. */
  removeOAuthGrant(grantId: string): Promise<void>
  /** How many there are of a type. */
  countOAuthRecords(type: string): Promise<number>
  /** Removes what ended before. */
  sweepOAuthRecords(before: number): Promise<void>
  /** Newest first. */
  signingKeys(): Promise<SigningKey[]>
  addSigningKey(key: SigningKey): Promise<void>
  /** Removes all that were made before, but for the newest of all. */
  removeSigningKeys(before: number): Promise<void>
}
