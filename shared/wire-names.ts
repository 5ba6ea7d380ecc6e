/**
 * The vendor prefix of names on the wire is configuration: headers `X-Svc-…`, environment names `SVC_…`.
 * This is the one function that knows which spellings are accepted. Ours are always among them.
 */
import { fail } from './errors.ts'
import { parse, s, type Out } from './schema.ts'

const headerWord = s.string().check(s.regex(/^[A-Za-z][A-Za-z0-9]{0,31}$/, 'must be letters and digits'))
const shortWord = s.string().check(s.regex(/^[a-z][a-z0-9]{0,31}$/, 'must be lower-case letters and digits'))
const imageWord = s.string().check(s.regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens'))
const token = s.string().check(s.regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must be letters, digits, _ and -'))
const prefix = s.string().check(s.regex(/^[a-z][a-z0-9./-]{0,126}$/, 'must be lower-case letters, digits, ., / and -'))

/** The words that names of one vendor are made of; what is left out follows from the header and the short word. */
export const wireName = s.strictObject({
  /** `Svc`: headers `X-Svc-…`, `Svc-Version`. */
  header: headerWord,
  /** `svc`: what all the others begin with. */
  short: shortWord,
  /** `svc`: images `svc/base-image:latest`. */
  image: imageWord,
  /** `SVC`: variables `SVC_NAME`. */
  variable: s.optional(s.string().check(s.regex(/^[A-Z][A-Z0-9]{0,31}$/, 'must be upper-case letters and digits'))),
  /** `svc_preview_token`: the query key of a preview's token. */
  previewToken: s.optional(token),
  /** `svc_session`: the cookie that a token is exchanged for. */
  cookie: s.optional(token),
  /** `svc`: the `client_id` of command lines that log in. */
  oauthClient: s.optional(token),
  /** `x-svc-`: labels that mean something to the platform. */
  label: s.optional(prefix),
  /** `ai.svc.`: keys of extensions. */
  extension: s.optional(prefix),
})
export type WireName = Readonly<Out<typeof wireName>>

/** Accepted spellings of a name, preferred first. */
export interface WireNames {
  readonly list: readonly WireName[]
  /** `WORKSPACE` → `SVC_WORKSPACE`; also the full word for vendors whose short word differs from it. */
  env(suffix: string): string[]
  /** `UID_MAP` → `SVCFS_UID_MAP`. */
  driveEnv(suffix: string): string[]
  /** `subject-id` → `x-svc-subject-id`, lower case as Node gives header names. */
  header(suffix: string): string[]
  /** `svc-version`, lower case. */
  readonly versionHeaders: readonly string[]
  /** `svc_preview_token`. */
  readonly previewTokens: readonly string[]
  /** `svc_session`. */
  readonly cookies: readonly string[]
  /** `svc`. */
  readonly oauthClients: readonly string[]
  /** `auto-generated` → `x-svc-auto-generated`. */
  label(suffix: string): string[]
  /** `experimental/bind-to-sandbox` → `ai.svc.experimental/bind-to-sandbox`. */
  extension(suffix: string): string[]
}

const ours: WireName = { header: 'Svc', short: 'svc', image: 'svc' }

/** The names in their order, ours first unless they are among them. Throws `invalid_argument` naming `field`. */
export const withOurs = (names: readonly WireName[], field: string): readonly WireName[] => {
  const word = ({ header }: WireName) => header.toLowerCase()
  const listed = names.find(name => word(name) === word(ours))
  if (listed && JSON.stringify(listed) !== JSON.stringify(ours))
    throw fail('invalid_argument', { field, reason: `"${listed.header}" is ours, and has its words already` })
  const all = listed ? names : [ours, ...names]
  const twice = all.find((name, index) => all.findIndex(other => word(other) === word(name)) !== index)
  if (twice) throw fail('invalid_argument', { field, reason: `"${twice.header}" is there twice` })
  return all
}

const shortForm = (part: string, field: string): WireName => {
  const [header = '', short = header.toLowerCase(), image = short, ...more] = part.trim().split(':')
  const name = wireName.safeParse({ header, short, image })
  if (!name.success || more.length > 0)
    throw fail('invalid_argument', { field, reason: `"${part}" is not Header:short[:image]` })
  return name.data
}

const longForm = (value: string, field: string): readonly WireName[] => {
  try {
    return parse(s.array(wireName), JSON.parse(value), 'config')
  } catch {
    throw fail('invalid_argument', { field, reason: 'is not a JSON list of names' })
  }
}

/**
 * Names beside ours: `Header:short[:image],…`, or the JSON list that a host gives to its daemons. Throws `invalid_argument` naming
 * `field`.
 */
export const parseWireNames = (value: string | undefined, field: string): readonly WireName[] => {
  if (!value) return [ours]
  return withOurs(
    value.startsWith('[') ? longForm(value, field) : value.split(',').map(part => shortForm(part, field)),
    field,
  )
}

const variableOf = ({ variable, short }: WireName): string => variable ?? short.toUpperCase()

export const wireNames = (list: readonly WireName[]): WireNames => ({
  list,
  env: suffix => [
    ...new Set([
      ...list.map(name => `${variableOf(name)}_${suffix}`),
      ...list.map(name => `${name.header.toUpperCase()}_${suffix}`),
    ]),
  ],
  driveEnv: suffix => list.map(name => `${variableOf(name)}FS_${suffix}`),
  header: suffix => list.map(name => `x-${name.header.toLowerCase()}-${suffix}`),
  versionHeaders: list.map(({ header }) => `${header.toLowerCase()}-version`),
  previewTokens: list.map(({ previewToken, short }) => previewToken ?? `${short}_preview_token`),
  cookies: list.map(({ cookie, short }) => cookie ?? `${short}_session`),
  oauthClients: list.map(({ oauthClient, short }) => oauthClient ?? short),
  label: suffix => list.map(({ label, header }) => `${label ?? `x-${header.toLowerCase()}-`}${suffix}`),
  extension: suffix => list.map(({ extension, short }) => `${extension ?? `ai.${short}.`}${suffix}`),
})
