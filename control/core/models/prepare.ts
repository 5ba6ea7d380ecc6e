/** A request as one provider gets it: where it goes, which bytes, and what becomes of the answer. */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { fail } from '../../../shared/errors.ts'
import { placeOf } from './address.ts'
import type { Transform } from './answering.ts'
import type { Dialect } from './dialects/dialect.ts'
import { at, parsed, type Json } from './json.ts'
import { membersOf, type Members } from './members.ts'
import type { Route } from './routes.ts'
import { translated, translationFor } from './translated.ts'

export interface Body {
  readonly raw: Buffer | Readable | null
  /** Of a JSON object that is kept. */
  readonly members: Members | undefined
}

export const bodyOf = (raw: Buffer | Readable | null): Body => ({
  raw,
  members: raw instanceof Buffer ? membersOf(raw) : undefined,
})

/** Larger ones count by their size: to parse them would hold up everybody. */
const mostParsed = 1024 * 1024

/** The request as JSON; undefined for one that is none, or too large to be looked at. */
export const jsonOf = ({ raw }: Body): Json =>
  raw instanceof Buffer && raw.length <= mostParsed ? parsed(raw.toString('utf8')) : undefined

/** The most tokens that a request allows for its answer; undefined where it does not say. */
export const mostOutputOf = ({ members }: Body, { most }: Dialect): number | undefined => {
  for (const name of most) {
    const [first = '', ...rest] = name.split('.')
    const value = members?.value(first)
    const found = rest.length > 0 ? at(value, rest.join('.')) : value
    if (typeof found === 'number' && found > 0) return found
  }
  return undefined
}

export interface Prepared {
  readonly path: string
  readonly method: string
  /** What the provider's answer is counted by. */
  readonly dialect: Dialect
  readonly body: Buffer | Readable | null
  readonly transform?: Transform | undefined
  /** The dialect that the client hears. */
  readonly told: Dialect
}

/** A last event that only tells the usage, which the client has not asked for. */
const isUsageAlone = (frame: Buffer): boolean =>
  frame.includes('"usage"') && /"choices"\s*:\s*\[\s*\]/.test(frame.toString('latin1'))

const withoutUsage: Transform = { frame: frame => (isUsageAlone(frame) ? [] : [frame]) }

/** The model that is meant, in the bytes of the request. */
const withModel = ({ runtime, record }: Route, members: Members, raw: Buffer, isNamed: boolean): Buffer => {
  const wanted = runtime.model
  if (!wanted) return raw
  const given = members.value('model')
  // The model's own name stands for what it is at its provider.
  const isOurs = given === record.name || (isNamed && (given === undefined || given === ''))
  return isOurs && given !== wanted ? members.with('model', JSON.stringify(wanted)) : raw
}

/** The same in a path: `/models/gpt:generateContent`. */
const modelInPath = ({ runtime, record }: Route, target: string): string => {
  const own = `/models/${record.name}:`
  return runtime.model && target.includes(own) ? target.replace(own, `/models/${runtime.model}:`) : target
}

const passThrough = (route: Route, target: string, { method = 'GET' }: IncomingMessage, body: Body): Prepared => {
  const place = placeOf(route.provider, route.base, modelInPath(route, target), route.values)
  const { dialect } = place
  const { raw, members } = body
  const common = { path: place.path, method, dialect, told: dialect }
  if (!members || !(raw instanceof Buffer)) return { ...common, body: raw }
  const named = withModel(route, members, raw, dialect.namesModel === true)
  const { askUsage } = dialect
  if (!askUsage || members.value('stream') !== true || members.has(askUsage.absent)) return { ...common, body: named }
  const asking = membersOf(named)?.prepended(askUsage.member) ?? named
  return { ...common, body: asking, transform: withoutUsage }
}

/** What of a call its provider is asked by. */
export interface Prepare {
  readonly id: string
  /** Epoch ms. */
  readonly time: number
  readonly target: string
  readonly request: IncomingMessage
  readonly body: Body
}

/** Throws `invalid_argument` naming what the provider has nothing for. */
export const prepare = (route: Route, call: Prepare): Prepared => {
  const { target, request, body } = call
  if (target.startsWith('/port/')) throw fail('route_not_found', { method: request.method ?? 'GET', path: target })
  const translation = translationFor(route, target)
  return translation ? translated(translation, route, body, call) : passThrough(route, target, request, body)
}
