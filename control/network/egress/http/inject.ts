/** Puts what routing rules say into a request: headers, members of its JSON body, and secrets where the sandbox wrote their names. */
import { addMembers, missingMembers } from '../../../../shared/policy/merge.ts'
import type { Rule } from '../../../../shared/policy/rules.ts'
import { fillSent, fillTemplate, mayHoldPlaceholder, newCalls, type Calls } from '../../../../shared/policy/template.ts'
import type { HeaderNames } from './names.ts'
import type { RequestLines } from './request.ts'

/** What rules do to one request. */
export interface Injection {
  readonly headers: string[]
  readonly calls: Calls
  /** The body has to be collected, because something may go into it. */
  readonly needsBody: boolean
  /** What could not be put in, by the name of its header or field. */
  readonly skipped: string[]
}

/** Bodies beyond this pass as they are. */
const maxMergedBody = 1024 * 1024

const mergedMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
/** What a header's value may hold; anything else would end the line, or worse. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

const isJson = (contentType: string): boolean => /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)
const isForm = (contentType: string): boolean => /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)

/** Secrets of all rules that match; where two have one of the same name, the first. */
const secretsOf = (rules: readonly Rule[]): ReadonlyMap<string, string> => {
  if (rules.length === 1) return (rules[0] as Rule).secrets
  const all = new Map<string, string>()
  for (const rule of rules) for (const [name, value] of rule.secrets) if (!all.has(name)) all.set(name, value)
  return all
}

/** `Basic` credentials hide a placeholder in base64. */
const fillBasic = (value: string, secrets: ReadonlyMap<string, string>): string => {
  const [, scheme, encoded] = /^(Basic +)([A-Za-z0-9+/=]+)$/i.exec(value) ?? []
  if (encoded === undefined) return value
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const filled = fillSent(text, secrets, 'plain')
  return filled === text ? value : `${scheme}${Buffer.from(filled).toString('base64')}`
}

const asField = (text: string): string | undefined => {
  const value = Buffer.from(text, 'utf8').toString('latin1')
  return fieldValue.test(value) ? value : undefined
}

const fillSentHeaders = (headers: string[], secrets: ReadonlyMap<string, string>, skipped: string[]): void => {
  for (let i = 1; i < headers.length; i += 2) {
    const sent = headers[i] as string
    if (!mayHoldPlaceholder(sent) && !/^Basic /i.test(sent)) continue
    const filled = fillBasic(fillSent(sent, secrets, 'plain'), secrets)
    if (filled === sent) continue
    const value = asField(filled)
    if (value === undefined) skipped.push(headers[i - 1] as string)
    else headers[i] = value
  }
}

/** Applies the rules to the headers of a request. The given lines are not changed. */
export const injectHeaders = (
  rules: readonly Rule[],
  method: string,
  lines: RequestLines,
  deps: { now: () => number },
): Injection => {
  const calls = newCalls()
  const skipped: string[] = []
  const headers = [...lines.headers]
  const present = new Set<string>()
  for (let i = 0; i < headers.length; i += 2) present.add((headers[i] as string).toLowerCase())
  const secrets = secretsOf(rules)
  if (secrets.size > 0) fillSentHeaders(headers, secrets, skipped)
  for (const rule of rules)
    for (const { name, lower, value } of rule.headers) {
      if (present.has(lower)) continue
      const filled = fillTemplate(value, name, rule.secrets, calls, deps)
      const field = filled === undefined ? undefined : asField(filled)
      if (field === undefined) {
        skipped.push(name)
        continue
      }
      present.add(lower)
      headers.push(name, field)
    }
  const small =
    lines.length !== undefined && lines.length > 0 && lines.length <= maxMergedBody && lines.codings.length === 0
  const merges = mergedMethods.has(method) && isJson(lines.contentType) && rules.some(rule => rule.body.size > 0)
  return { headers, calls, skipped, needsBody: small && (merges || secrets.size > 0) }
}

const mergeBody = (text: string, rules: readonly Rule[], injection: Injection, deps: { now: () => number }): string => {
  const missing = missingMembers(text, new Set(rules.flatMap(rule => [...rule.body.keys()])))
  if (!missing) return text
  const members: [string, string][] = []
  const open = new Set(missing)
  for (const rule of rules)
    for (const [name, value] of rule.body) {
      if (!open.has(name)) continue
      const filled = fillTemplate(value, name, rule.secrets, injection.calls, deps)
      if (filled === undefined) {
        injection.skipped.push(name)
        continue
      }
      open.delete(name)
      members.push([name, filled])
    }
  return addMembers(text, members)
}

/** The body with secrets where the sandbox named them and the rules' members. Bytes that are not text stay what they are. */
export const injectBody = (
  body: Buffer,
  rules: readonly Rule[],
  method: string,
  { contentType }: Pick<RequestLines, 'contentType'>,
  injection: Injection,
  deps: { now: () => number },
): Buffer => {
  const secrets = secretsOf(rules)
  if (!isJson(contentType)) {
    const text = body.toString('latin1')
    if (!mayHoldPlaceholder(text)) return body
    // latin1 keeps every byte of a body that may be anything.
    const bytes = new Map([...secrets].map(([name, value]) => [name, Buffer.from(value).toString('latin1')]))
    return Buffer.from(isForm(contentType) ? fillSent(text, secrets, 'form') : fillSent(text, bytes, 'plain'), 'latin1')
  }
  const text = body.toString('utf8')
  if (!Buffer.from(text, 'utf8').equals(body)) return body
  // What the sandbox wrote is filled first, so that nothing that is put in is looked at again.
  const filled = mayHoldPlaceholder(text) ? fillSent(text, secrets, 'json') : text
  return Buffer.from(mergedMethods.has(method) ? mergeBody(filled, rules, injection, deps) : filled, 'utf8')
}

/** Echo of the functions' values: one header for each place they went into. Secrets are never among them. */
export const echoHeaders = ({ made }: Calls, names: HeaderNames): string[] => {
  const targets = new Map<string, string[]>()
  for (const { target, name, value } of made) {
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(target)) continue
    targets.set(target, [...(targets.get(target) ?? []), `${name}=${value}`])
  }
  const headers: string[] = []
  for (const [target, values] of targets)
    for (const prefix of names.functions) headers.push(`${prefix}${target}`, values.join(', '))
  return headers
}
