/** Rows of signing in, as SQLite holds them. */

/** What the OAuth provider remembers; `id` is a hash, `payload` sealed. */
export interface OAuthRow {
  type: string
  id: string
  payload: string
  grant_id: string | null
  uid: string | null
  user_code: string | null
  consumed_at: number | null
  expires_at: number | null
}

/** `sealed` is a private JWK. */
export interface SigningKeyRow {
  kid: string
  sealed: string
  created_at: number
}

export interface PersonRow {
  sub: string
  account: string
  email: string
  name: string
  password: string | null
  account_admin: number
  created_at: number
  email_proven: number
  sessions_from: number
}

/** A link that is good once; `hash` is that of its secret. */
export interface LinkRow {
  hash: string
  purpose: string
  subject: string
  expires_at: number
}

/** What a person is in a workspace; `uid` is the record that it goes with. */
export interface MembershipRow {
  uid: string
  sub: string
  workspace: string
  role: 'admin' | 'member'
}

/** Who a person is at a provider elsewhere. */
export interface IdentityRow {
  issuer: string
  subject: string
  sub: string
}

/** A mail that is to be sent; `sealed` is all of it. */
export interface MailRow {
  id: string
  sealed: string
  due_at: number
  attempts: number
  expires_at: number
}

export interface IdentityTables {
  oauth_records: OAuthRow
  signing_keys: SigningKeyRow
  people: PersonRow
  links: LinkRow
  memberships: MembershipRow
  identities: IdentityRow
  mails: MailRow
}
