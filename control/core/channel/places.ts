/** Where kept connections lead to: those that rest, those in use, and who waits for one. */
import type { Socket } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import { isQuiet } from '../../base/relay/addon.ts'
import { maxOfClient } from './shares.ts'

/** One connection into a machine. Whoever has it sets `on`; at rest nobody hears it. */
export interface Far {
  readonly socket: Socket
  on: FarEvents | undefined
}

export interface FarEvents {
  data(bytes: Buffer): void
  /** The other side sends no more. */
  end(): void
  drain(): void
  /** It is gone. */
  close(error: Error | undefined): void
}

/** At once to the same place, of eight clients that take all they may; further ones wait for their turn. */
export const maxOpen = 8 * maxOfClient

/** How connections to a place come about. */
export interface Way {
  /** Of the place. */
  readonly name: string
  /** At once; whoever comes then waits for their turn. */
  readonly most: number
  open(): Promise<Socket>
}

export interface Place {
  readonly name: string
  readonly resting: Held[]
  readonly all: Set<Held>
  /** Being opened. */
  opening: number
  /** One of them that nobody has asked for yet, and that rests when it is there. */
  ahead: Promise<void> | undefined
  /** A connection rests here for so many ms at least, whatever its other side offers. */
  leastRestMs: number
  readonly waiting: (() => void)[]
}

export interface Held extends Far {
  readonly place: Place
  until: number
  error: Error | undefined
}

export interface Context {
  readonly clock: Pick<Clock, 'elapsed' | 'every'>
  readonly places: Map<string, Place>
}

export const placeOf = ({ places }: Context, name: string): Place => {
  let place = places.get(name)
  if (!place) {
    place = { name, resting: [], all: new Set(), opening: 0, ahead: undefined, leastRestMs: 0, waiting: [] }
    places.set(name, place)
  }
  return place
}

/** Lets one of those that wait look again; a place that nobody uses is not kept. */
const next = ({ places }: Context, place: Place): void => {
  place.waiting.shift()?.()
  if (place.all.size + place.opening + place.waiting.length === 0 && places.get(place.name) === place)
    places.delete(place.name)
}

const unrest = (far: Held): void => {
  const at = far.place.resting.indexOf(far)
  if (at >= 0) far.place.resting.splice(at, 1)
}

const hold = (context: Context, place: Place, socket: Socket): Held => {
  const far: Held = { socket, on: undefined, place, until: 0, error: undefined }
  place.all.add(far)
  // Bytes that nobody asked for would be taken for the next answer.
  socket.on('data', (bytes: Buffer) => (far.on ? far.on.data(bytes) : socket.destroy()))
  socket.on('end', () => (far.on ? far.on.end() : socket.destroy()))
  socket.on('drain', () => far.on?.drain())
  socket.on('error', error => {
    far.error = error
  })
  socket.on('close', () => {
    place.all.delete(far)
    unrest(far)
    const { on } = far
    far.on = undefined
    on?.close(far.error)
    next(context, place)
  })
  socket.resume()
  return far
}

/**
 * One that rests, if there is any. What came on it meanwhile, and was not read yet, would be taken for the next answer; and one that its
 * other side has closed would lose a request that cannot be sent twice.
 */
export const restingOne = ({ resting }: Place): Held | undefined => {
  for (let far = resting.pop(); far; far = resting.pop()) {
    if (isQuiet(far.socket)) return far
    far.socket.destroy()
  }
  return undefined
}

/** One that rests by then, or a new one. */
export const openOne = async (context: Context, place: Place, { most, open }: Omit<Way, 'name'>): Promise<Held> => {
  for (;;) {
    const ready = restingOne(place)
    if (ready) return ready
    if (place.ahead) {
      await place.ahead
      continue
    }
    if (place.all.size + place.opening < most) break
    await new Promise<void>(resolve => place.waiting.push(resolve))
  }
  place.opening++
  const socket = await open()
    .finally(() => place.opening--)
    .catch((error: unknown) => {
      next(context, place)
      throw error
    })
  if (context.places.get(place.name) === place) return hold(context, place, socket)
  socket.on('error', () => {}).destroy()
  throw Object.assign(new Error('the machine is no more'), { code: 'ECONNRESET' })
}
