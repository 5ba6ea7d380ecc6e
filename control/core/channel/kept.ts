/** Connections that are kept after an answer for the next request, by what they lead to. */
import { openOne, placeOf, restingOne, type Context, type Far, type Held, type Place, type Way } from './places.ts'

export interface Kept {
  /** One that rests, at once, or a new one when it is there. Rejects with what the system says. */
  take(way: Way): Far | Promise<Far>
  /** Always a new one. */
  fresh(way: Way): Promise<Far>
  /** Opens one for the next, where none rests; what rests there does so for `restMs` at least from now on. */
  ahead(way: Way, restMs: number): void
  /** For the next; it may rest for so long. */
  giveBack(far: Far, restMs: number): void
  /** Ends those to a machine that is no more. */
  forget(host: string): void
  close(): void
}

const tickMs = 1_000

export const createKept = (clock: Context['clock']): Kept => {
  const context: Context = { clock, places: new Map() }
  const { places } = context
  const end = (place: Place): void => {
    places.delete(place.name)
    for (const { socket } of place.all) socket.destroy()
    for (const run of place.waiting.splice(0)) run()
  }
  const stop = clock.every(tickMs, () => {
    const now = clock.elapsed()
    for (const { resting } of places.values())
      for (const far of resting.filter(({ until }) => until <= now)) far.socket.destroy()
  })
  const giveBack = (far: Far, restMs: number): void => {
    const held = far as Held
    const { socket, place } = held
    held.on = undefined
    if (socket.destroyed || restMs <= 0 || places.get(place.name) !== place) return void socket.destroy()
    held.until = clock.elapsed() + Math.max(restMs, place.leastRestMs)
    if (socket.isPaused()) socket.resume()
    place.resting.push(held)
    place.waiting.shift()?.()
  }
  return {
    take(way) {
      const place = placeOf(context, way.name)
      return restingOne(place) ?? openOne(context, place, way)
    },
    async fresh(way) {
      const place = placeOf(context, way.name)
      for (const { socket } of place.resting.splice(0)) socket.destroy()
      return openOne(context, place, way)
    },
    ahead(way, restMs) {
      const place = placeOf(context, way.name)
      place.leastRestMs = restMs
      for (const far of place.resting) far.until = clock.elapsed() + restMs
      if (place.resting.length + place.opening > 0) return
      place.ahead = openOne(context, place, way)
        .then(
          far => giveBack(far, restMs),
          () => {
            // Whoever wants it opens one, and is told why not.
          },
        )
        .finally(() => {
          place.ahead = undefined
        })
    },
    giveBack,
    forget(host) {
      for (const place of places.values()) if (place.name.startsWith(`${host} `)) end(place)
    },
    close() {
      stop()
      for (const place of places.values()) end(place)
    },
  }
}
