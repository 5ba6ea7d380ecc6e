/** The C addon (`relay.c`), and who is told when one of its links has ended: it has one thread for all. */
import { join } from 'node:path'
import type { Socket } from 'node:net'
import { nativeAddon } from '../native-addon.ts'

interface Addon {
  start(told: (id: number, ...ended: Parameters<Ended>) => void): number
  join(id: number, client: number, server: number, clientAhead: Buffer, serverAhead: Buffer): number
  move(id: number, from: number, to: number, bytes: number): number
  end(id: number): number
  originalDestination(descriptor: number): [number, number] | undefined
  isQuiet(descriptor: number): boolean
}

export const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/relay.node'))

interface Handle {
  readonly fd: number
  readStop(): number
  readStart(): number
}

/**
 * Node gives the descriptor of a socket to nobody; its handle has it on every system but Windows. That of a connection with TLS names what is
 * under it, where nothing may go that is not encrypted: it has none here.
 */
export const handleOf = (socket: Socket): Handle | undefined => {
  if ('encrypted' in socket) return undefined
  const { _handle: handle } = socket as unknown as { _handle: Handle | null }
  return handle && handle.fd >= 0 ? handle : undefined
}

/** Whether nothing has come on a connection that was not read, and its other side has not ended it: asked of the kernel, now. */
export const isQuiet = (socket: Socket): boolean => {
  const handle = handleOf(socket)
  return handle !== undefined && socket.readableLength === 0 && addon().isQuiet(handle.fd)
}

/**
 * Told how many bytes of the first side the second has got, how many were not taken (below zero where nobody has said how many there are),
 * whether it was the first that ended too early, and whether more of it is there than was to be moved.
 */
type Ended = (delivered: number, left: number, isSourceGone: boolean, hasMore: boolean) => void

const links = new Map<number, Ended>()
let lastId = 0
let isStarted = false

/** Starts its thread, once; to be called before there are connections. Throws when the addon was not built or the system gives no thread. */
export const startRelay = (): void => {
  if (isStarted) return
  const failure = addon().start((id, ...how) => {
    const ended = links.get(id)
    links.delete(id)
    ended?.(...how)
  })
  if (failure < 0) throw new Error(`the relay cannot start: errno ${-failure}`)
  isStarted = true
}

/** Begins a link by `call`; answers what ends it at once, or undefined when it did not begin: `ended` is not called then. */
export const link = (call: (id: number) => number, ended: Ended): (() => void) | undefined => {
  const id = ++lastId
  if (call(id) < 0) return undefined
  links.set(id, ended)
  return () => void addon().end(id)
}
