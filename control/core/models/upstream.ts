/** One request to a provider, and its answer as it comes: nothing is buffered, back-pressure is kept. */
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

export interface Ask {
  readonly dispatcher: Dispatcher
  readonly origin: string
  readonly path: string
  readonly method: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: Buffer | Readable | null
}

/** Whoever reads an answer's body. */
export interface Sink {
  /** False asks for no more until `resume`. */
  data(piece: Buffer): boolean
  end(): void
  /** The provider ended in the middle. */
  cut(error: Error): void
}

export interface Answer {
  readonly status: number
  readonly statusText: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** The first value of a header, '' for none. */
  header(name: string): string
  /** Begins to read; once. */
  read(sink: Sink): void
  resume(): void
  /** Ends it where it is. */
  stop(reason: Error): void
}

/** Answers that are dropped are read to so many bytes, which keeps their connection. */
const mostDropped = 64 * 1024

class Arriving implements Answer {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly string[]
  readonly #controller: Dispatcher.DispatchController
  #sink: Sink | undefined
  /** What came before anybody read. */
  readonly #early: Buffer[] = []
  #over: 'end' | Error | undefined

  constructor(controller: Dispatcher.DispatchController, status: number, statusText: string) {
    this.#controller = controller
    this.status = status
    this.statusText = statusText
    this.headers = ((controller.rawHeaders ?? []) as (Buffer | string)[]).map(one => one.toString('latin1'))
    controller.pause()
  }

  header(name: string): string {
    for (let i = 0; i < this.headers.length; i += 2)
      if (this.headers[i]?.toLowerCase() === name) return this.headers[i + 1] ?? ''
    return ''
  }

  read(sink: Sink): void {
    this.#sink = sink
    let more = true
    for (const piece of this.#early.splice(0)) more = sink.data(piece)
    if (this.#over) this.#finish(this.#over)
    else if (more) this.#controller.resume()
  }

  resume(): void {
    this.#controller.resume()
  }

  stop(reason: Error): void {
    if (!this.#over) this.#controller.abort(reason)
  }

  arrived(piece: Buffer): void {
    if (!this.#sink) this.#early.push(piece)
    else if (!this.#sink.data(piece)) this.#controller.pause()
  }

  finished(how: 'end' | Error): void {
    this.#over = how
    if (this.#sink) this.#finish(how)
  }

  #finish(how: 'end' | Error): void {
    if (how === 'end') this.#sink?.end()
    else this.#sink?.cut(how)
  }
}

/** Resolves with the head of the answer; rejects when there is none, or with the signal's reason. */
export const ask = ({ dispatcher, ...request }: Ask, signal: AbortSignal): Promise<Answer> =>
  new Promise((answered, failed) => {
    if (signal.aborted) return failed(signal.reason as Error)
    let arriving: Arriving | undefined
    let controller: Dispatcher.DispatchController | undefined
    const aborted = () => controller?.abort(signal.reason as Error)
    signal.addEventListener('abort', aborted, { once: true })
    const over = () => signal.removeEventListener('abort', aborted)
    dispatcher.dispatch(
      {
        origin: request.origin,
        path: request.path,
        method: request.method as Dispatcher.HttpMethod,
        headers: request.headers as string[],
        body: request.body,
        // A stream that stays open must not block others behind it.
        blocking: false,
      },
      {
        onRequestStart(given) {
          controller = given
          if (signal.aborted) given.abort(signal.reason as Error)
        },
        onResponseStart(given, status, _headers, statusText) {
          if (status < 200) return
          arriving = new Arriving(given, status, statusText ?? '')
          answered(arriving)
        },
        onResponseData(_given, piece) {
          arriving?.arrived(piece)
        },
        onResponseEnd() {
          over()
          arriving?.finished('end')
        },
        onResponseError(_given, error) {
          over()
          if (arriving) arriving.finished(error)
          else failed(error)
        },
      },
    )
    return undefined
  })

/** The whole body of an answer, at most `most` bytes of it. */
export const wholeOf = (answer: Answer, most: number): Promise<Buffer> =>
  new Promise((done, failed) => {
    const pieces: Buffer[] = []
    let size = 0
    answer.read({
      data(piece) {
        size += piece.length
        if (size <= most) pieces.push(piece)
        else answer.stop(new Error(`it answered more than ${most} bytes`))
        return true
      },
      end: () => done(Buffer.concat(pieces)),
      cut: failed,
    })
  })

/** Reads an answer that nobody wants to its end, or ends it where it is long. */
export const drop = async (answer: Answer): Promise<void> => {
  await wholeOf(answer, mostDropped).catch(() => {
    // Nobody wanted it.
  })
}
