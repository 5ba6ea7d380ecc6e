/** The functions of `{{FUNC:name(argument)}}`: what a rule may put into a request that differs each time. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'

export interface FunctionDeps {
  /** Epoch milliseconds. */
  readonly now: () => number
}

type Make = (deps: FunctionDeps, argument: number | undefined) => string | undefined

const maxLength = 1024
/** What node:crypto draws evenly. */
const maxBound = 2 ** 48 - 1
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const without =
  (make: (deps: FunctionDeps) => string): Make =>
  (deps, argument) =>
    argument === undefined ? make(deps) : undefined

const within =
  (fallback: number, max: number, make: (n: number) => string): Make =>
  (_, argument = fallback) =>
    argument >= 1 && argument <= max ? make(argument) : undefined

const randomHex = (length: number): string =>
  randomBytes(Math.ceil(length / 2))
    .toString('hex')
    .slice(0, length)

const randomText = (length: number): string => Array.from({ length }, () => letters[randomInt(letters.length)]).join('')

/** RFC 9562, section 5.7: milliseconds, then chance. */
const uuidv7 = ({ now }: FunctionDeps): string => {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now(), 0, 6)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const uuidv4 = without(() => randomUUID())
const iso8601 = without(({ now }) => new Date(now()).toISOString())

const functions: ReadonlyMap<string, Make> = new Map<string, Make>([
  ['uuid', uuidv4],
  ['uuidv4', uuidv4],
  ['uuidv7', without(uuidv7)],
  ['timestamp', without(({ now }) => String(Math.floor(now() / 1000)))],
  ['timestamp_ms', without(({ now }) => String(now()))],
  // The clock has milliseconds: the rest is chance, so that two of one moment differ.
  ['timestamp_ns', without(({ now }) => String(BigInt(now()) * 1_000_000n + BigInt(randomInt(1_000_000))))],
  ['datetime', iso8601],
  ['iso8601', iso8601],
  ['date', without(({ now }) => new Date(now()).toISOString().slice(0, 10))],
  ['time', without(({ now }) => new Date(now()).toISOString().slice(11, 19))],
  ['randint', within(2_147_483_647, maxBound, bound => String(randomInt(bound)))],
  ['randhex', within(32, maxLength, randomHex)],
  ['randstr', within(16, maxLength, randomText)],
  ['nonce', without(() => randomHex(32))],
])

/** The value of one call, or undefined when there is no such function or its argument is out of range. */
export const callFunction = (name: string, argument: number | undefined, deps: FunctionDeps): string | undefined =>
  functions.get(name.toLowerCase())?.(deps, argument)
