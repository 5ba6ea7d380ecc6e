/** Reads streams that must stay open: a request whose answer has yet to be sent over the same connection. */
import type { Readable } from 'node:stream'

/**
 * Takes a chunk; when a promise is returned it is waited for before the next. `detachListener` pauses the source, with
 * nothing listening for data, until that promise settles: meanwhile it may be read in another way.
 */
type Take = (chunk: Buffer, detachListener: () => void) => Promise<void> | undefined

interface ConsumeContext {
  readonly source: Readable
  readonly take: Take
  readonly onData: (chunk: Buffer) => void
  /** Ends the reading, once; the source is left paused. */
  readonly settle: (error?: unknown) => void
  settled: boolean
  detached: boolean
  taking: Promise<void> | undefined
}

const closedEarly = (source: Readable): Error => source.errored ?? new Error('the stream was closed before it ended')

const detachListener = (context: ConsumeContext): void => {
  context.detached = true
  context.source.off('data', context.onData).pause()
}

const goOn = (context: ConsumeContext): void => {
  context.taking = undefined
  if (context.settled) return
  if (context.detached) context.source.on('data', context.onData)
  context.detached = false
  context.source.resume()
}

const takeChunk = (context: ConsumeContext, chunk: Buffer): void => {
  const { source, take, settle } = context
  try {
    const full = take(chunk, () => detachListener(context))
    if (!full) return context.detached ? goOn(context) : undefined
    source.pause()
    context.taking = full.then(() => goOn(context), settle)
  } catch (error) {
    settle(error)
  }
}

/**
 * Gives every chunk of `source` to `take`, until the end. Unlike a pipeline it leaves the source open, paused, after a
 * failure. Throws what `take` or the source throws, and the signal's reason.
 */
export const consume = (source: Readable, take: Take, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    if (source.readableEnded) return resolve()
    if (source.destroyed) return reject(closedEarly(source))
    const settle = (error?: unknown) => {
      if (context.settled) return
      context.settled = true
      source.off('data', context.onData).off('end', onEnd).off('close', onClose)
      signal?.removeEventListener('abort', onAbort)
      source.pause()
      if (error === undefined) resolve()
      else reject(error)
    }
    const context: ConsumeContext = {
      source,
      take,
      onData: chunk => takeChunk(context, chunk),
      settle,
      settled: false,
      detached: false,
      taking: undefined,
    }
    // A stream may end while its last chunk is still being taken.
    const onEnd = () => (context.taking ? void context.taking.then(() => settle()) : settle())
    const onClose = () => {
      if (!source.readableEnded) settle(closedEarly(source))
    }
    const onAbort = () => settle(signal?.reason)
    signal?.addEventListener('abort', onAbort)
    // The error listener stays: an error after the end must not end the process.
    source.on('data', context.onData).on('end', onEnd).on('close', onClose).on('error', settle).resume()
  })

/** Reads and drops what is left, at most `limit` bytes, so that a client that is still sending gets to see the answer. */
export const discard = async (source: Readable, limit: number): Promise<void> => {
  let left = limit
  await consume(source, chunk => {
    left -= chunk.length
    if (left < 0) throw new Error('enough')
    return undefined
  }).catch(() => {
    // Only the answer matters now, and a client that has left does not wait for it.
  })
}
