/** What all who take part in a soak of random kills share: the server, who has struck when, and what came out wrong. */
import type { Answer, Server } from '../server.ts'

/** From and to, epoch ms. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A command in a sandbox that was answered: the sandbox ran at some moment of it. */
export interface Used extends Span {
  readonly name: string
}

export interface World {
  readonly s: Server
  /** Starts of the server so far: whoever knows of fewer looks whether all is as it was. */
  generation: number
  /** No more strikes come, and everybody finishes what is under way. */
  over: boolean
  /** What nobody may see; each fails the soak. */
  readonly odd: string[]
  /** How often each thing was done, struck, or refused in words. */
  readonly tally: Map<string, number>
  readonly used: Used[]
  /** From each kill of the server until it served again. */
  readonly down: Span[]
  /** While a backup may have held sandboxes still. */
  readonly copying: Span[]
  /** When processes of a machine were killed, by its id. */
  readonly struck: { readonly id: string; readonly at: number }[]
  /** The server is killed just now, while it starts. */
  killing: boolean
  /** Resolves when a server serves, or is about to. */
  up: Promise<void>
}

export const newWorld = (s: Server): World => ({
  s,
  generation: 1,
  over: false,
  killing: false,
  up: Promise.resolve(),
  odd: [],
  tally: new Map(),
  used: [],
  down: [],
  copying: [],
  struck: [],
})

export const note = ({ tally }: World, what: string): void => void tally.set(what, (tally.get(what) ?? 0) + 1)

/**
 * - `ok`: done, and it has to stay       - `no`: refused in words, nothing was done
 * - `unsure`: the connection broke, or a failure was answered that may have come after the deed
 */
export type Outcome = { readonly is: 'ok' | 'no' | 'unsure'; readonly answer?: Answer }

const codeOf = ({ body }: Answer): string | undefined => {
  const { error } = body ?? {}
  return typeof error === 'string' ? error : error?.code
}

/** Fetch has no class of its own for a connection that breaks. */
const isCut = (error: unknown): boolean => error instanceof TypeError

/**
 * Asks and judges the answer: of those of 200 one that is right, of others one in the API's own shape that tells of a moment that passes
 * (429, 502, 503, 504, and 404 of a sandbox that comes up), or one of `refusals`.
 */
export const ask = async (
  world: World,
  what: string,
  call: () => Promise<Answer>,
  refusals: readonly number[] = [],
): Promise<Outcome> => {
  await world.up
  note(world, what)
  let answer: Answer
  try {
    answer = await call()
  } catch (error) {
    if (isCut(error)) note(world, `${what}: cut`)
    else world.odd.push(`${what}: ${String(error)}`)
    return { is: 'unsure' }
  }
  const { status, text } = answer
  if (status >= 200 && status < 300) return { is: 'ok', answer }
  const code = codeOf(answer)
  note(world, `${what}: ${status} ${code}`)
  const passes = [429, 502, 503, 504].includes(status) || code === 'WORKLOAD_UNAVAILABLE'
  if (code === undefined || !(passes || refusals.includes(status)))
    world.odd.push(`${what}: ${status} ${text.slice(0, 300)}`)
  return { is: refusals.includes(status) || status === 429 ? 'no' : 'unsure', answer }
}
