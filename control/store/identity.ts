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

export interface Identity {
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
