import type { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Clock } from '../../shared/clock.ts'
import { isError } from '../../shared/errors.ts'
import type { Pump } from '../../shared/route.ts'
import type { Process } from '../../shared/wire/process.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Managed } from './managed.ts'
import type { Capture } from './output/capture.ts'
import { changed, writeTo } from './output/follow.ts'
import { gapLine, streamNames, type StreamIndex } from './output/lines.ts'
import type { Run } from './output/runs.ts'
import { present } from './present.ts'
import { waitForEnd } from './waits.ts'
import { lostLine } from './room/room.ts'

const eventKeepaliveMs = 5_000
const chunkBytes = 64 * 1024

/** One event of the stream; `cursor` is where a reader resumes after it. */
const line = (event: { type: string; data?: string; cursor?: number; process?: Process | undefined }): string =>
  `${JSON.stringify(event)}\n`

/** How many bytes at the end of `bytes` begin a UTF-8 character without finishing it, by the rules of StringDecoder. */
export const unfinishedBytes = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? back : 0
  }
  return 0
}

/** Where a reader with `cursor` begins, in bytes of both streams together. */
export const eventStart = (
  { positions: { runs } }: Capture,
  cursor: number | undefined,
): { at: number; lost: number } => {
  const wanted = Math.min(cursor ?? 0, runs.end)
  return wanted < runs.base ? { at: runs.base, lost: runs.base - wanted } : { at: wanted, lost: 0 }
}

/** The next bytes of a run, without an incomplete character at their end while more may follow. */
const readPiece = (capture: Capture, run: Run): Buffer => {
  const bytes = Buffer.allocUnsafe(Math.min(run.length, chunkBytes))
  const length = capture.read(run.stream, bytes, run.offset)
  const piece = bytes.subarray(0, length)
  const isLast = run.at + length === capture.positions.runs.end
  const mayGrow = length < run.length || (isLast && !capture.ended)
  return mayGrow ? piece.subarray(0, length - unfinishedBytes(piece)) : piece
}

/**
 * A decoder of one stream from `offset` on. A character may have begun before it, with bytes of the other stream in
 * between: its first bytes, which a reader that resumes was not sent, are fed to the decoder.
 */
const decoderAt = (capture: Capture, stream: StreamIndex, offset: number): StringDecoder => {
  const from = Math.max(capture.positions.heads[stream], offset - 3)
  const bytes = Buffer.alloc(offset - from)
  const before = bytes.subarray(0, capture.read(stream, bytes, from))
  const decoder = new StringDecoder('utf8')
  const begun = unfinishedBytes(before)
  // Bytes that begin no character were sent as replacement characters already.
  return begun > 0 && decoder.write(before.subarray(-begun)) !== '' ? new StringDecoder('utf8') : decoder
}

const output = async (
  managed: Managed,
  from: number,
  lost: number,
  out: Writable,
  signal: AbortSignal,
  idle: (now: boolean) => void,
): Promise<void> => {
  const { capture } = managed
  const decoders: (StringDecoder | undefined)[] = [undefined, undefined]
  const release = capture.hold()
  let at = from
  const gap = (stream: 0 | 1, bytes: number): Promise<void> =>
    writeTo(out, line({ type: streamNames[stream], data: `${gapLine(bytes, at)}\n`, cursor: at }), signal)
  try {
    if (lost > 0) await gap(0, lost)
    for (;;) {
      signal.throwIfAborted()
      const { runs, heads } = capture.positions
      if (at < runs.base) {
        const missing = runs.base - at
        at = runs.base
        await gap(0, missing)
      }
      const run = runs.find(at)
      const missing = run ? Math.min(run.length, heads[run.stream] - run.offset) : 0
      if (run && missing > 0) {
        at += missing
        await gap(run.stream, missing)
        continue
      }
      const piece = run ? readPiece(capture, run) : undefined
      if (run && piece && piece.length > 0) {
        at += piece.length
        const data = (decoders[run.stream] ??= decoderAt(capture, run.stream, run.offset)).write(piece)
        if (data) await writeTo(out, line({ type: streamNames[run.stream], data, cursor: at }), signal)
        continue
      }
      if (capture.ended) break
      idle(true)
      await changed(capture, signal)
      idle(false)
    }
    // A character that was never completed is sent as a replacement character.
    for (const stream of [0, 1] as const) {
      const data = decoders[stream]?.end()
      if (data) await writeTo(out, line({ type: streamNames[stream], data, cursor: at }), signal)
    }
  } finally {
    release()
  }
}

/** The last line of a stream that could not begin, or that does not wait for the end of the process. */
export const errorStream = (message: string, process?: Process): string =>
  line({ type: 'error', data: message, process })

interface EventStreamDeps {
  readonly clock: Clock
  readonly heartbeat: Heartbeat
  /** Of each stream, in the process that the last line shows. */
  readonly tailBytes: number
  /** How long the reader waits for the end of the process; undefined: as long as it takes. */
  readonly boundMs?: number | undefined
}

/** Calls `stop` with the error of a wait that takes longer than the reader waits. */
const limitWait = (
  managed: Managed,
  { clock, boundMs }: EventStreamDeps,
  signal: AbortSignal,
  stop: (late: unknown) => void,
): void => {
  if (boundMs === undefined) return
  waitForEnd(clock, managed, boundMs, signal).catch(error => {
    if (!signal.aborted) stop(error)
  })
}

/**
 * The output as events from `start` on, then the process itself as `result`, or `error` when the reader waits no longer. The
 * process does not end with its reader.
 */
export const eventStream =
  (managed: Managed, start: { at: number; lost: number }, deps: EventStreamDeps): Pump =>
  async (out, signal) => {
    const { heartbeat, tailBytes } = deps
    let idle = false
    const stopBeat = heartbeat.every(eventKeepaliveMs, () => {
      if (idle && !out.writableNeedDrain) out.write(line({ type: 'keepalive' }))
    })
    const done = new AbortController()
    const late = new AbortController()
    limitWait(managed, deps, AbortSignal.any([signal, done.signal]), error => late.abort(error))
    try {
      await output(managed, start.at, start.lost, out, AbortSignal.any([signal, late.signal]), now => {
        idle = now
      })
      // The record is final in the same turn of the event loop in which the capture ends.
      await managed.finished
    } catch (error) {
      if (signal.aborted || !late.signal.aborted || !isError(late.signal.reason, 'unprocessable')) throw error
      out.write(errorStream(late.signal.reason.message, present(managed, { bytes: tailBytes })))
      return
    } finally {
      done.abort()
      stopBeat()
    }
    if (managed.record.diskWasFull) out.write(line({ type: 'stderr', data: lostLine }))
    out.write(line({ type: 'result', data: JSON.stringify(present(managed, { bytes: tailBytes })) }))
  }
