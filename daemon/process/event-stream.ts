import type { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Pump } from '../../shared/route.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Managed } from './managed.ts'
import type { Capture } from './output/capture.ts'
import { changed, writeTo } from './output/follow.ts'
import { gapLine, streamNames, type StreamIndex } from './output/lines.ts'
import type { Run } from './output/runs.ts'
import { present } from './present.ts'

const eventKeepaliveMs = 5_000
const chunkBytes = 64 * 1024

/** One event of the stream; `cursor` is where a reader resumes after it. */
const line = (event: { type: string; data?: string; cursor?: number }): string => `${JSON.stringify(event)}\n`

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

/** The output as events from `start` on, then the process itself as `result`. The process does not end with its reader. */
export const eventStream =
  (managed: Managed, start: { at: number; lost: number }, heartbeat: Heartbeat, tailBytes: number): Pump =>
  async (out, signal) => {
    let idle = false
    const stopBeat = heartbeat.every(eventKeepaliveMs, () => {
      if (idle && !out.writableNeedDrain) out.write(line({ type: 'keepalive' }))
    })
    try {
      await output(managed, start.at, start.lost, out, signal, now => {
        idle = now
      })
    } finally {
      stopBeat()
    }
    // The record is final in the same turn of the event loop in which the capture ends.
    await managed.finished
    out.write(line({ type: 'result', data: JSON.stringify(present(managed, { bytes: tailBytes })) }))
  }

/** The only line of a stream that could not begin. */
export const errorStream = (message: string): string => line({ type: 'error', data: message })
