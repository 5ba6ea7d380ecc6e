/** The plain request that handlers see, of a turn: what most of them do not ask for is made when one does. */
import { Readable } from 'node:stream'
import { decodePath } from '../http/request.ts'
import type { Exchange, Request } from '../route.ts'
import { streamOf } from './body.ts'
import type { Turn } from './turn.ts'

const empty = Buffer.alloc(0)

const readableOf = (bytes: Buffer): Readable => {
  const body = new Readable({ read() {} })
  if (bytes.length > 0) body.push(bytes)
  body.push(null)
  return body
}

/** A class, since an object with accessors that is made for each request costs V8 a hidden class of its own. */
export class TurnRequest implements Request {
  readonly method: string
  readonly rawPath: string
  readonly path: string
  readonly rawQuery: string
  readonly headers: Request['headers']
  readonly connection: object
  readonly exchange: Exchange
  readonly whole: Buffer | undefined
  private readonly turn: Turn
  private stream: Readable | undefined

  /** A body of at most `maxBytes` that is here already is taken. */
  constructor(turn: Turn, exchange: Exchange, maxBytes: number) {
    const { method = 'GET', url = '/', headers, socket } = turn.request
    const cut = url.indexOf('?')
    this.method = method
    this.rawPath = cut < 0 ? url : url.slice(0, cut)
    this.rawQuery = cut < 0 ? '' : url.slice(cut + 1)
    this.path = decodePath(this.rawPath)
    this.headers = headers
    this.connection = socket
    this.exchange = exchange
    this.whole = turn.length === 0 ? empty : turn.takeWhole(maxBytes)
    this.turn = turn
  }

  get search(): URLSearchParams {
    return new URLSearchParams(this.rawQuery)
  }
  get body(): Readable {
    return (this.stream ??= this.whole ? readableOf(this.whole) : streamOf(this.turn))
  }
  get remote(): string {
    return this.turn.request.socket.remoteAddress ?? ''
  }
  get local(): string {
    return this.turn.request.socket.localAddress ?? ''
  }
}
