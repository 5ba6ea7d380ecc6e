/** One request on a connection, until it is answered. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'

/** What handlers read of a request; node's own messages have it too. */
export interface Asked {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly socket: Socket
}

/** Takes a body as it comes. */
export interface BodySink {
  /** Whether more may come at once; otherwise `resume` is called when it may. */
  piece(bytes: Buffer): boolean
  /** There is no more of it. */
  end(): void
  /** Where the pieces go as they are: the rest of a long body may be moved there unread, and `piece` never sees it. */
  readonly to?: Socket
}

/** One thing that follows from the fields of a head, and where they lead: whose it is, for which place, and what. */
export interface Keeping {
  keptBy: object | undefined
  keptFor: string
  kept: unknown
}

export interface AnswerHeader {
  /** In lower case. */
  readonly name: string
  readonly value: string
}

export interface Turn {
  readonly request: Asked
  /** The same object for all requests of a connection that repeat the fields of their head. */
  readonly keeping: Keeping
  /** A header of the answer, where it has not its own. */
  readonly always: AnswerHeader | undefined
  /** Bytes of the body that are announced. */
  readonly length: number
  /** The client waits for `100 Continue`. */
  readonly expects: boolean
  /** What of the body is here already, when that is all of it and not more than so many bytes; it is taken by this. */
  takeWhole(maxBytes: number): Buffer | undefined
  /** The same without taking it. */
  peekWhole(maxBytes: number): Buffer | undefined
  /** Gives the body to `sink`; what nobody has asked for is thrown away after the answer. */
  readBody(sink: BodySink): void
  /** The sink takes more. */
  resume(): void
  /** Something of the body was taken, or all of an empty one. */
  readonly isTaken: boolean
  /** Another request may follow the answer. */
  readonly keepAlive: boolean
  readonly isOver: boolean
  /** Once, when the answer is out or the connection is gone. */
  onOver(run: () => void): void
  /** The client took what it did not at once. */
  onDrain(run: () => void): void
  /** The connection ends here and now. */
  cut(): void
  /** The answer is out; `keep` tells whether its head has left the connection open. */
  done(keep: boolean): void
  /** The request goes the way of all others; only before anything of its body was taken. */
  pass(): void
}
