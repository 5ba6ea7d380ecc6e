/**
 * What a request from a sandbox says, read from its raw header lines once. Node's parser has refused what is not HTTP; here goes what
 * a server behind us could still understand otherwise than we do.
 */
import type { IncomingMessage } from 'node:http'
import { hopByHop, namedByConnection } from '../../../../shared/http/hop-by-hop.ts'
import { pathReadings, type PathReadings } from '../../../../shared/policy/path.ts'
import type { HeaderNames } from './names.ts'

export interface RequestLines {
  /** The Host header as sent; undefined where there is none. */
  readonly host: string | undefined
  /** Names and values in turn, without Host and what belongs to this connection only. */
  readonly headers: string[]
  /** Bytes of the body; undefined where it is chunked. No body is 0. */
  readonly length: number | undefined
  readonly contentType: string
  /** How the body is compressed or the like, in the order it was done: its text cannot be seen as it comes. */
  readonly codings: readonly string[]
  readonly websocket: boolean
  readonly trailers: boolean
  /** Methods and paths that headers ask servers to obey instead of the request line. */
  readonly otherMethods: readonly string[]
  readonly otherPaths: readonly string[]
  readonly said: string | undefined
}

/** In words, to be answered with 400. */
export type Problem = string

interface Reading {
  host: string | undefined
  headers: string[]
  lengths: string[]
  encodings: string[]
  connection: boolean
  contentType: string
  codings: string[]
  upgrade: string
  te: string
  otherMethods: string[]
  otherPaths: string[]
  said: string | undefined
  problem: Problem | undefined
}

const codingsIn = (value: string): string[] =>
  value
    .toLowerCase()
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '' && one !== 'identity')

type Take = (reading: Reading, value: string) => void

/** Headers that are more than passed on; the rest costs one look into this table. */
const known = new Map<string, Take>([
  [
    'host',
    (reading, value) => {
      if (reading.host !== undefined) reading.problem = 'more than one Host'
      reading.host = value
    },
  ],
  ['content-length', (reading, value) => void reading.lengths.push(value)],
  ['transfer-encoding', (reading, value) => void reading.encodings.push(value)],
  ['connection', reading => void (reading.connection = true)],
  ['upgrade', (reading, value) => void (reading.upgrade = value)],
  ['te', (reading, value) => void (reading.te = value)],
  ['expect', () => {}],
])
for (const name of hopByHop) if (!known.has(name)) known.set(name, () => {})

/** Headers that are passed on and looked at as well. */
const watched = new Map<string, Take>([
  ['content-type', (reading, value) => void (reading.contentType = value)],
  ['content-encoding', (reading, value) => void reading.codings.push(...codingsIn(value))],
  // Of messages in the body: nothing here takes them apart.
  ['grpc-encoding', (reading, value) => void reading.codings.push(...codingsIn(value).map(one => `grpc ${one}`))],
  ['x-http-method-override', (reading, value) => void reading.otherMethods.push(value)],
  ['x-http-method', (reading, value) => void reading.otherMethods.push(value)],
  ['x-method-override', (reading, value) => void reading.otherMethods.push(value)],
  ['x-original-url', (reading, value) => void reading.otherPaths.push(value)],
  ['x-rewrite-url', (reading, value) => void reading.otherPaths.push(value)],
])

const lengthOf = (reading: Reading): number | undefined | Problem => {
  const { lengths, encodings } = reading
  if (encodings.length > 0) {
    if (lengths.length > 0) return 'both Content-Length and Transfer-Encoding'
    if (encodings.length > 1 || (encodings[0] as string).toLowerCase() !== 'chunked')
      return 'a Transfer-Encoding other than chunked'
    return undefined
  }
  const [length = '0'] = lengths
  if (lengths.length > 1 || !/^\d{1,15}$/.test(length)) return 'a Content-Length that is none'
  return Number(length)
}

const withoutNamed = (headers: string[], raw: readonly string[]): string[] => {
  const named = namedByConnection(raw)
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if (!named.has((headers[i] as string).toLowerCase())) kept.push(headers[i] as string, headers[i + 1] as string)
  return kept
}

/** Reads names and values in turn, or says what is wrong with them. */
export const readRequest = (raw: readonly string[], names: HeaderNames): RequestLines | Problem => {
  const reading: Reading = {
    host: undefined,
    headers: [],
    lengths: [],
    encodings: [],
    connection: false,
    contentType: '',
    codings: [],
    upgrade: '',
    te: '',
    otherMethods: [],
    otherPaths: [],
    said: undefined,
    problem: undefined,
  }
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const lower = name.toLowerCase()
    const take = known.get(lower)
    if (take) take(reading, raw[i + 1] as string)
    else if (names.withheld.has(lower)) {
      if (names.process.has(lower)) reading.said = raw[i + 1] as string
    } else {
      watched.get(lower)?.(reading, raw[i + 1] as string)
      reading.headers.push(name, raw[i + 1] as string)
    }
  }
  if (reading.problem !== undefined) return reading.problem
  const length = lengthOf(reading)
  if (typeof length === 'string') return length
  const { host, contentType, codings, otherMethods, otherPaths, said } = reading
  return {
    host,
    headers: reading.connection ? withoutNamed(reading.headers, raw) : reading.headers,
    length,
    contentType,
    codings,
    websocket: reading.upgrade.toLowerCase() === 'websocket',
    trailers: /(?:^|[,\s])trailers(?:[,;\s]|$)/i.test(reading.te),
    otherMethods,
    otherPaths,
    said,
  }
}

/** The same of a request of HTTP/1.1, where node's parser lets the word HTTP/2.0 through. */
export const readMessage = (
  { httpVersionMajor, rawHeaders }: Pick<IncomingMessage, 'httpVersionMajor' | 'rawHeaders'>,
  names: HeaderNames,
): RequestLines | Problem => (httpVersionMajor === 1 ? readRequest(rawHeaders, names) : 'another version of HTTP')

/** Every way the request may be understood; undefined when its path, or one it names in a header, cannot be read. */
export const readingsOf = (
  method: string,
  target: string,
  { otherMethods, otherPaths }: Pick<RequestLines, 'otherMethods' | 'otherPaths'>,
): { methods: string[]; paths: PathReadings[] } | undefined => {
  const methods = [method, ...otherMethods.map(other => other.trim().toUpperCase())]
  const paths: PathReadings[] = []
  for (const one of [target, ...otherPaths]) {
    const readings = pathReadings(one.replace(/^https?:\/\/[^/?#]*(?=\/)/i, ''))
    if (!readings) return undefined
    paths.push(readings)
  }
  return { methods, paths }
}
