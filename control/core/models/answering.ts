/** A provider's answer on its way to the client: passed on as it comes, counted as it passes. */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../shared/clock.ts'
import type { Dialect } from './dialects/dialect.ts'
import { createFrames } from './frames.ts'
import { masking } from './masking.ts'
import type { Answer } from './upstream.ts'
import type { Counting } from './usage.ts'

/** How an answer ended: whole, by the client's leaving, or by the provider's. */
export type Ending = 'whole' | 'gone' | 'cut'

/** What becomes of an answer on its way. */
export interface Transform {
  /** Of an event; nothing of it goes on where that is empty. */
  frame(frame: Buffer): readonly Buffer[]
  /** What follows the last event of a stream that was whole. */
  last?(): readonly Buffer[]
  /** Of a whole body; it is passed on as it comes where there is none. */
  whole?(body: Buffer): Buffer
}

export interface Passing {
  readonly answer: Answer
  readonly response: ServerResponse
  readonly dialect: Dialect
  readonly counting: Counting
  readonly secrets: readonly string[]
  /** The dialect that the client hears, where that is another one. */
  readonly told: Dialect
  readonly transform?: Transform | undefined
  readonly clock: Clock
  /** The first byte of the body came. */
  readonly began: () => void
}

export const isStream = (answer: Answer): boolean => /^text\/event-stream\b/i.test(answer.header('content-type'))

/** Time for an error event to arrive before the connection ends. */
const lingerMs = 100

const wentAway = new Error('the client is gone')

/** The client reads that the stream is not whole, and its connection is cut, so that no client takes it for an end. */
const breakOff = ({ response, told, clock }: Passing, message: string): 'cut' => {
  response.write(told.errorEvent(message), () => clock.after(lingerMs, () => response.destroy()))
  return 'cut'
}

/** Resolves when the answer is delivered or over. Its head has been written. */
export const passOn = (passing: Passing): Promise<Ending> =>
  new Promise(resolve => {
    const { answer, response } = passing
    let isOver = false
    const over = (ending: Ending): void => {
      if (isOver) return
      isOver = true
      response.off('close', gone)
      response.off('drain', resume)
      resolve(ending)
    }
    const gone = () => {
      // An end that was written and not yet taken is the client's to have.
      if (!response.writableFinished) answer.stop(wentAway)
      over(response.writableFinished ? 'whole' : 'gone')
    }
    const resume = () => answer.resume()
    response.on('close', gone).on('drain', resume)
    if (response.destroyed) return gone()
    const sink = sinkOf(passing)(passing, over)
    answer.read(sink)
    return undefined
  })

type Over = (ending: Ending) => void

const sinkOf = ({ answer, transform }: Passing) => {
  if (isStream(answer)) return streaming
  return transform?.whole ? rewritten : whole
}

const streaming = (passing: Passing, over: Over) => {
  const { response, counting, secrets, transform, began } = passing
  const frames = createFrames()
  const mask = masking(secrets)
  const write = (pieces: readonly Buffer[]): boolean => {
    if (pieces.length === 0) return true
    return response.write(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))
  }
  const take = (found: readonly Buffer[]): boolean => {
    for (const frame of found) counting.event(frame)
    return write((transform ? found.flatMap(frame => transform.frame(frame)) : found).map(mask.whole))
  }
  return {
    data(piece: Buffer): boolean {
      if (!counting.hasBegun) began()
      return take(frames.push(piece))
    },
    end(): void {
      const rest = frames.rest()
      if (rest.length > 0) take([rest])
      // A server between us and the model may end a stream that the model did not.
      if (passing.dialect.ends.length > 0 && !counting.hasEnded)
        return over(breakOff(passing, 'the provider ended the stream before the answer was whole'))
      write(transform?.last?.() ?? [])
      response.end(() => over('whole'))
    },
    cut(): void {
      if (response.destroyed) return over('gone')
      over(breakOff(passing, 'the provider ended in the middle of the stream'))
    },
  }
}

const whole = (passing: Passing, over: Over) => {
  const { response, counting, secrets, began } = passing
  const mask = masking(secrets)
  return {
    data(piece: Buffer): boolean {
      if (!counting.hasBegun) began()
      counting.piece(piece)
      const masked = mask.piece(piece)
      return masked.length === 0 || response.write(masked)
    },
    end(): void {
      const rest = mask.rest()
      if (rest.length > 0) response.write(rest)
      response.end(() => over('whole'))
    },
    cut(): void {
      // The head is out: only a cut connection still says that the body is not whole.
      const isGone = response.destroyed
      response.destroy()
      over(isGone ? 'gone' : 'cut')
    },
  }
}

/** Bytes of a body that is said in another dialect. */
const mostRewritten = 32 * 1024 * 1024

const rewritten = (passing: Passing, over: Over) => {
  const { answer, response, counting, secrets, transform, began } = passing
  const pieces: Buffer[] = []
  let size = 0
  return {
    data(piece: Buffer): boolean {
      if (!counting.hasBegun) began()
      counting.piece(piece)
      size += piece.length
      if (size > mostRewritten) answer.stop(new Error(`it answered more than ${mostRewritten} bytes`))
      else pieces.push(piece)
      return true
    },
    end(): void {
      const body = Buffer.concat(pieces)
      response.end(masking(secrets).whole(transform?.whole?.(body) ?? body), () => over('whole'))
    },
    cut(): void {
      const isGone = response.destroyed
      response.destroy()
      over(isGone ? 'gone' : 'cut')
    },
  }
}
