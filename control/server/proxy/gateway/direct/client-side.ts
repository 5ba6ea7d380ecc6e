/** An answer as it is written to a client: its head once, with what of the body is there. */
import type { Socket } from 'node:net'
import { timing } from '../../../../../shared/http/server.ts'
import type { Turn } from '../../../../../shared/lane/turn.ts'
import type { Framing } from '../../../../core/channel/answer-head.ts'

/** Answers up to so many bytes leave as one text with their head: half of what two writes cost. */
const smallBytes = 16 * 1024

const keepAlive = `connection: keep-alive\r\nkeep-alive: timeout=${timing.keepAliveTimeout / 1_000}\r\n`

export interface AnswerStart {
  readonly status: number
  readonly reason: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly framing: Framing
}

/** The head as text. */
const headOf = ({ status, reason, headers, framing }: AnswerStart, turn: Turn, date: () => string): string => {
  let text = `HTTP/1.1 ${status} ${reason}\r\n`
  let isDated = false
  let { always } = turn
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    if (name.length === 4 && name.toLowerCase() === 'date') isDated = true
    if (name.length === always?.name.length && name.toLowerCase() === always.name) always = undefined
    text += `${name}: ${headers[at + 1]}\r\n`
  }
  if (!isDated) text += date()
  if (always) text += `${always.name}: ${always.value}\r\n`
  text += turn.keepAlive ? keepAlive : 'connection: close\r\n'
  return `${text}${framing === 'chunks' || framing === 'close' ? 'transfer-encoding: chunked\r\n\r\n' : '\r\n'}`
}

/**
 * What is known of an answer on its way out. Plain fields: an object with accessors, made for each request, costs V8 a hidden class
 * of its own that keeps the whole request until the next full collection.
 */
export interface ClientSide {
  readonly turn: Turn
  readonly date: () => string
  /** It leaves with the first bytes, and at the latest with `flush`. */
  head: string
  hasBegun: boolean
  /** Of the answer, once there is one; 0 before. */
  status: number
  inChunks: boolean
  /** Whether the client takes more at once. */
  takesMore: boolean
}

export const clientSide = (turn: Turn, date: () => string): ClientSide => ({
  turn,
  date,
  head: '',
  hasBegun: false,
  status: 0,
  inChunks: false,
  takesMore: true,
})

/** A socket says "enough" at 64 KiB, which is one read: to stop and go on for each costs as much as the copying. */
const roomBytes = 512 * 1024

/** Whether a socket that said "enough" takes more all the same. It tells when it is empty. */
export const hasRoom = (socket: Socket): boolean => socket.writableLength < roomBytes || socket.destroyed

const put = (side: ClientSide, start: string, pieces: readonly Buffer[], size: number): void => {
  const { inChunks } = side
  const { socket } = side.turn.request
  if (size === 0) side.takesMore = socket.write(start, 'latin1')
  else if (start.length + size <= smallBytes) {
    let text = start
    for (const piece of pieces) text += piece.toString('latin1')
    side.takesMore = socket.write(inChunks ? `${text}\r\n` : text, 'latin1')
  } else if (start === '' && pieces.length === 1) side.takesMore = socket.write(pieces[0] as Buffer)
  else {
    socket.cork()
    if (start) socket.write(start, 'latin1')
    for (const piece of pieces) side.takesMore = socket.write(piece)
    if (inChunks) side.takesMore = socket.write('\r\n', 'latin1')
    socket.uncork()
  }
  side.takesMore ||= hasRoom(socket)
}

/** The head is known. */
export const begin = (side: ClientSide, start: AnswerStart): void => {
  side.head = headOf(start, side.turn, side.date)
  side.hasBegun = true
  side.status = start.status
  side.inChunks = start.framing === 'chunks' || start.framing === 'close'
}

/** Pieces of the body, as its framing has them. */
export const write = (side: ClientSide, pieces: readonly Buffer[]): void => {
  let size = 0
  for (const piece of pieces) size += piece.length
  if (size === 0) return
  const { head } = side
  side.head = ''
  put(side, side.inChunks ? `${head}${size.toString(16)}\r\n` : head, pieces, size)
}

/** What was held back leaves. */
export const flush = (side: ClientSide): void => {
  const { head } = side
  side.head = ''
  if (head) put(side, head, [], 0)
}

/** The body is whole. */
export const end = (side: ClientSide): void => {
  if (side.inChunks) side.head += '0\r\n\r\n'
  flush(side)
}

/** Calls `run` when all that was written is out, or the client gone. */
export const onceOut = ({ turn: { request } }: ClientSide, run: () => void): void => {
  const { socket } = request
  if (socket.writableLength === 0 || socket.destroyed) run()
  else socket.write('', () => run())
}
