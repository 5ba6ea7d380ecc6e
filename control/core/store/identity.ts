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
  /** Somebody who reads mail of that address has said so. */
  readonly emailProven: boolean
  /** Sign-ins from before count no more, epoch ms. */
  readonly sessionsFrom: number
}

/** Who a person is elsewhere: a subject of an issuer. */
export interface Identified {
  readonly issuer: string
  readonly subject: string
}

/** A mail that is to be sent. */
export interface Mail {
  readonly id: string
  /** Sealed JSON: to whom, and what. */
  readonly sealed: string
  readonly dueAt: number
  readonly attempts: number
  /** Of no use afterwards. */
  readonly expiresAt: number
}

/** What a secret in an address is good for, once. */
export interface Link {
  readonly hash: string
  readonly purpose: string
  /** Whom or what it is for; '' for nobody in particular. */
  readonly subject: string
  readonly expiresAt: number
}

/** One part of a transaction about people. */
export type IdentityChange =
  /** Throws `already_exists` for an address that is somebody's. */
  | { readonly add: Person }
  /** Throws `not_found`. */
  | {
      readonly person: string
      readonly set: Partial<Pick<Person, 'name' | 'password' | 'accountAdmin' | 'emailProven' | 'sessionsFrom'>>
    }
  /** With every key, login, link and identity; what the person is in workspaces goes with those records. */
  | { readonly remove: string }
  /** What programs were let in with; keys stay. */
  | { readonly endLogins: string }
  /** Keys and logins. */
  | { readonly endKeys: string }
  /** In the place of those for the same. */
  | { readonly link: Link }
  /** Throws `not_found` for one that was used or is over. */
  | { readonly take: string }
  /** Throws `already_exists` for one that is somebody's, and for a second one of the same issuer. */
  | { readonly identify: Identified; readonly as: string }
  /** The person is nobody at any issuer any more. */
  | { readonly unbind: string }
  | { readonly mail: Mail }

export interface Identity {
  person(by: 'sub' | 'email', value: string): Promise<Person | undefined>
  /** By address. */
  people(): Promise<Person[]>
  hasPeople(): Promise<boolean>
  identified(by: Identified): Promise<Person | undefined>
  /** The subject that a person is at an issuer. */
  subjectAt(issuer: string, sub: string): Promise<string | undefined>
  /** Uids of the records by which a person is in workspaces. */
  membershipsOf(sub: string): Promise<string[]>
  link(hash: string, now: number): Promise<Link | undefined>
  /** All of it happens, or nothing. */
  change(changes: readonly IdentityChange[], audit: readonly AuditEntry[], now: number): Promise<void>
  /** Mails whose time has come, oldest first. Those that are of no use any more are removed. */
  dueMails(now: number, limit: number): Promise<Mail[]>
  /** When the first of them is due. */
  nextMail(): Promise<number | undefined>
  removeMail(id: string): Promise<void>
  /** It could not be sent: later, then. */
  putOffMail(id: string, dueAt: number): Promise<void>

  oauthRecord(type: string, by: 'id' | 'uid' | 'userCode', value: string): Promise<OAuthRecord | undefined>
  /** In the place of one with the same id. */
  putOAuthRecord(record: OAuthRecord): Promise<void>
  consumeOAuthRecord(type: string, id: string, now: number): Promise<void>
  removeOAuthRecord(type: string, id: string): Promise<void>
  /** Everything that was given out under a grant. */
  removeOAuthGrant(grantId: string): Promise<void>
  /** How many there are of a type. */
  countOAuthRecords(type: string): Promise<number>
  /** Removes what ended before, links too. */
  sweepOAuthRecords(before: number): Promise<void>
  /** Newest first. */
  signingKeys(): Promise<SigningKey[]>
  addSigningKey(key: SigningKey): Promise<void>
  /** Removes all that were made before, but for the newest of all. */
  removeSigningKeys(before: number): Promise<void>
}
