/**
 * How another vendor's clients speak: the words of its names, its images, regions and versions, in one file. All of it is beside ours;
 * nothing of ours goes.
 */
import { readFileSync, statSync } from 'node:fs'
import { isError, messageOf } from '../../../shared/errors.ts'
import { parse, s, text, type Out } from '../../../shared/schema.ts'
import { parseWireNames, withOurs, wordForms, type WireName } from '../../../shared/wire-names.ts'
import { apiVersions, type ApiVersion } from './api-versions.ts'
import { isLabel, refuse, textOf, type Environment } from './values.ts'

const word = (form: RegExp, reason: string) => s.string().check(s.regex(form, reason))
const token = word(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must be letters, digits, _ and -')
const prefix = word(/^[a-z][a-z0-9./-]{0,126}$/, 'must be lower-case letters, digits, ., / and -')
const label = s
  .string()
  .check(s.refine(word => isLabel(word) && word !== 'auto', 'must be a host label and not "auto"'))
const version = s.string().check(s.regex(/^\d{4}-\d\d-\d\d(\.preview)?$/, 'must be YYYY-MM-DD'))

const words = {
  header: word(wordForms.header, 'must be letters and digits'),
  variable: s.optional(word(/^[A-Z][A-Z0-9]{0,31}$/, 'must be upper-case letters and digits')),
  previewToken: s.optional(token),
  cookie: s.optional(token),
  oauthClient: s.optional(token),
  label: s.optional(prefix),
  extension: s.optional(prefix),
}
const short = word(wordForms.short, 'must be lower-case letters and digits')
const image = word(wordForms.image, 'must be lower-case letters, digits and hyphens')

/** Versions of the API: theirs → ours. */
export const versionMap = s.record(version, s.enum(apiVersions))

/** The names of every vendor, as a program has them. */
export const wireNameList = s.array(s.strictObject({ ...words, short, image }))

const profile = s.strictObject({
  ...words,
  short: s.optional(short),
  image: s.optional(image),
  imageAliases: s.optional(s.record(text(255), text(255))),
  regions: s.optional(s.array(label)),
  versions: s.optional(versionMap),
})

/** What the wire has beside ours. */
export interface WireProfile {
  /** Every spelling of names, preferred first. */
  readonly wireNames: readonly WireName[]
  /** Further names of images: theirs → ours. */
  readonly imageAliases: Readonly<Record<string, string>>
  /** Region codes beside `HUTCH_REGIONS`. */
  readonly regions: readonly string[]
  /** Versions of the API that are answered as one of ours: theirs → ours. */
  readonly versions: Readonly<Record<string, ApiVersion>>
}

const variable = 'HUTCH_WIRE_PROFILE'
const maxBytes = 1024 * 1024

const contentOf = (path: string): string => {
  try {
    const { size } = statSync(path)
    if (size > maxBytes) throw refuse(variable, `${path} is larger than ${maxBytes} bytes`)
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isError(error)) throw error
    throw refuse(variable, `${path} cannot be read: ${messageOf(error)}`)
  }
}

/** Throws `invalid_argument` with the variable, the file and the member that is wrong. */
const readProfile = (path: string): Out<typeof profile> => {
  const content = contentOf(path)
  let document: unknown
  try {
    document = JSON.parse(content)
  } catch (error) {
    throw refuse(variable, `${path} is not JSON: ${messageOf(error)}`)
  }
  try {
    return parse(profile, document, 'config')
  } catch (error) {
    throw refuse(variable, `${path}: ${messageOf(error)}`)
  }
}

/** The names of `HUTCH_WIRE_NAMES` and the file of `HUTCH_WIRE_PROFILE`; `path` completes a path. */
export const wireFrom = (env: Environment, path: (name: string) => string): WireProfile => {
  const named = parseWireNames(textOf(env, 'HUTCH_WIRE_NAMES'), 'HUTCH_WIRE_NAMES')
  if (!textOf(env, variable)) return { wireNames: named, imageAliases: {}, regions: [], versions: {} }
  const { imageAliases = {}, regions = [], versions = {}, ...words } = readProfile(path(variable))
  const short = words.short ?? words.header.toLowerCase()
  const added: WireName = { ...words, short, image: words.image ?? short }
  // What is named twice is described by the file.
  const others = named.filter(({ header }) => header.toLowerCase() !== added.header.toLowerCase())
  return { wireNames: withOurs([...others, added], variable), imageAliases, regions, versions }
}
