/** The one place that knows under which vendor prefixes headers, query keys and variables are accepted and emitted. */
import { wireNames as spellings, type WireName } from '../../../shared/wire-names.ts'

export interface WireNames {
  readonly list: readonly WireName[]
  /** Lower-case header names that may carry `Bearer <credential>`, in order of precedence. */
  readonly credentialHeaders: readonly string[]
  readonly workspaceHeaders: readonly string[]
  readonly versionHeaders: readonly string[]
  readonly previewTokenHeaders: readonly string[]
  readonly previewTokenQueries: readonly string[]
  /** Names of the cookie that a preview's token is exchanged for. */
  readonly previewCookies: readonly string[]
  readonly threadHeaders: readonly string[]
  /** `X-Svc-Source` for every prefix. */
  headers(suffix: string): readonly string[]
  /** Variables injected into workloads: `{ SVC_NAME, … }` for every prefix, from `{ NAME, … }`. */
  environment(values: Readonly<Record<string, string>>): Record<string, string>
  /** Whether a label is one that the platform gives a meaning to, somewhere. */
  isOwnLabel(label: string): boolean
  /** Whether a name says that it is the vendor's: `svc`, `svc-tools`. */
  isBranded(name: string): boolean
  /** The image under the first prefix: `base-image:latest` → `svc/base-image:latest`. */
  imageName(image: string): string
}

/** Everything that is derived from the configured prefixes; the first of them is the one we emit when only one can be. */
export const wireNames = (names: readonly WireName[]): WireNames => {
  const { header, env, versionHeaders, previewTokens, cookies, label } = spellings(names)
  const [first] = names
  if (!first) throw new Error('at least one wire name is needed')
  return {
    list: names,
    // A vendor SDK pointed at a model endpoint may leave its own Authorization in place: the named header wins.
    credentialHeaders: [...header('authorization'), 'authorization'],
    workspaceHeaders: header('workspace'),
    versionHeaders,
    previewTokenHeaders: header('preview-token'),
    previewTokenQueries: previewTokens,
    previewCookies: cookies,
    threadHeaders: header('thread-id'),
    headers: suffix => names.map(name => `X-${name.header}-${suffix}`),
    environment: values =>
      Object.fromEntries(Object.entries(values).flatMap(([suffix, value]) => env(suffix).map(name => [name, value]))),
    isOwnLabel: one => label('').some(prefix => one.startsWith(prefix)),
    isBranded: name => names.some(({ short }) => name === short || name.startsWith(`${short}-`)),
    imageName: image => `${first.image}/${image}`,
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** The first of `names` that is present and not empty. */
export const headerOf = (headers: Headers, names: readonly string[]): string | undefined => {
  for (const name of names) {
    const value = headers[name]
    const text = Array.isArray(value) ? value[0] : value
    if (text) return text
  }
  return undefined
}
