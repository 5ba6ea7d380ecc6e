/**
 * The vendor prefix of names on the wire is configuration: headers `X-Svc-…`, environment names `SVC_…`.
 * This is the one function that knows which spellings are accepted. Ours are always among them.
 */
import { fail } from './errors.ts'

/** The words that names of one vendor are made of; what is left out follows from the header and the short word. */
export interface WireName {
  /** `Svc`: headers `X-Svc-…`, `Svc-Version`. */
  readonly header: string
  /** `svc`: what all the others begin with. */
  readonly short: string
  /** `svc`: images `svc/base-image:latest`. */
  readonly image: string
  /** `SVC`: variables `SVC_NAME`. */
  readonly variable?: string | undefined
  /** `svc_preview_token`: the query key of a preview's token. */
  readonly previewToken?: string | undefined
  /** `svc_preview_token`: the cookie that a preview's token is exchanged for. */
  readonly cookie?: string | undefined
  /** `svc`: the `client_id` of command lines that log in. */
  readonly oauthClient?: string | undefined
  /** `x-svc-`: labels that mean something to the platform. */
  readonly label?: string | undefined
  /** `ai.svc.`: keys of extensions. */
  readonly extension?: string | undefined
}

/** How the words of a name may be spelt. */
export const wordForms = {
  header: /^[A-Za-z][A-Za-z0-9]{0,31}$/,
  short: /^[a-z][a-z0-9]{0,31}$/,
  image: /^[a-z][a-z0-9-]{0,62}$/,
} as const

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
  /** `svc_preview_token`. */
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
  const isName = wordForms.header.test(header) && wordForms.short.test(short) && wordForms.image.test(image)
  if (!isName || more.length > 0)
    throw fail('invalid_argument', { field, reason: `"${part}" is not Header:short[:image]` })
  return { header, short, image }
}

const isWireName = (value: unknown): value is WireName => {
  const { header, short, image } = (value ?? {}) as Readonly<Record<string, unknown>>
  return [header, short, image].every(word => typeof word === 'string')
}

/** Not by a schema: a daemon that starts loads none. */
const longForm = (value: string, field: string): readonly WireName[] => {
  try {
    const names = JSON.parse(value) as unknown
    if (Array.isArray(names) && names.every(isWireName)) return names
  } catch {
    // Said below.
  }
  throw fail('invalid_argument', { field, reason: 'is not a JSON list of names' })
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

/** The reverse of `parseWireNames`. */
export const writeWireNames = (names: readonly WireName[]): string => {
  const isShort = names.every(name => Object.keys(name).every(key => ['header', 'short', 'image'].includes(key)))
  return isShort
    ? names.map(({ header, short, image }) => `${header}:${short}:${image}`).join(',')
    : JSON.stringify(names)
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
  cookies: list.map(({ cookie, previewToken, short }) => cookie ?? previewToken ?? `${short}_preview_token`),
  oauthClients: list.map(({ oauthClient, short }) => oauthClient ?? short),
  label: suffix => list.map(({ label, header }) => `${label ?? `x-${header.toLowerCase()}-`}${suffix}`),
  extension: suffix => list.map(({ extension, short }) => `${extension ?? `ai.${short}.`}${suffix}`),
})
