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

interface PersonRow {
  sub: string
  account: string
  email: string
  name: string
  password: string | null
  account_admin: number
  created_at: number
}

interface PersonElsewhereRow {
  issuer: string
  subject: string
  sub: string
}

/** A link that is good once; `hash` is that of its secret. */
interface LinkRow {
  hash: string
  purpose: string
  subject: string
  expires_at: number
}

export interface IdentityTables {
  oauth_records: OAuthRow
  signing_keys: SigningKeyRow
  people: PersonRow
  people_elsewhere: PersonElsewhereRow
  links: LinkRow
}
