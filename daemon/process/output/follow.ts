import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Capture } from './capture.ts'
import { gapLine, newline } from './lines.ts'

const chunkBytes = 256 * 1024

/** Which bytes of a process: stdout, stderr, or the combined log of prefixed lines. */
export type Part = 0 | 1 | 2

const partEnd = ({ positions }: Capture, part: Part): number => (part === 2 ? positions.combined : positions.seen[part])

/** Writes, and waits while the reader is slow: unsent output stays in the file. */
export const writeTo = async (out: Writable, bytes: Buffer | string, signal: AbortSignal): Promise<void> => {
  if (!out.write(bytes)) await once(out, 'drain', { signal })
}

/** Resolves at the next growth or the end; rejects when the signal is aborted. */
export const changed = (capture: Capture, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const gone = (): void => {
      stop()
      reject(signal.reason as Error)
    }
    const stop = capture.onChange(() => {
      stop()
      signal.removeEventListener('abort', gone)
      resolve()
    })
    if (signal.aborted) gone()
    else signal.addEventListener('abort', gone, { once: true })
  })

/** The first line that begins at or after `offset`: pages are given back without regard to lines. */
const lineStart = (capture: Capture, offset: number): number => {
  if (offset === 0) return 0
  const bytes = Buffer.allocUnsafe(chunkBytes)
  for (let at = offset - 1; ; ) {
    // At the head the byte before it is gone, so a line that begins exactly there is given up.
    const from = Math.max(at, capture.positions.heads[2])
    const length = capture.read(2, bytes, from)
    if (length === 0) return partEnd(capture, 2)
    const found = bytes.subarray(0, length).indexOf(newline)
    if (found >= 0) return from + found + 1
    at = from + length
  }
}

/** Where a reader with a cursor begins, and how many bytes before that are gone. */
export interface Start {
  readonly at: number
  readonly lost: number
}

/** `cursor` undefined: from the beginning, but at most `backlog` bytes. A cursor beyond the end begins at the end. */
export const startOf = (capture: Capture, part: Part, cursor: number | undefined, backlog: number): Start => {
  const end = partEnd(capture, part)
  const head = capture.positions.heads[part]
  const wanted = Math.min(cursor ?? 0, end)
  const oldest = cursor === undefined ? Math.max(head, end - backlog) : head
  if (wanted >= oldest) return { at: wanted, lost: 0 }
  const at = part === 2 ? lineStart(capture, oldest) : oldest
  return { at, lost: at - wanted }
}

interface FollowHooks {
  /** Formats the text of a gap, which names the cursor at which the reader goes on. */
  readonly gap: (text: string) => string
  /** Called when all output was written, before waiting for more. */
  readonly idle?: () => void
  readonly busy?: () => void
}

/** Writes the bytes of `part` from `start` on until the process has ended and everything is written. */
export const follow = async (
  capture: Capture,
  part: Part,
  start: Start,
  out: Writable,
  signal: AbortSignal,
  hooks: FollowHooks,
): Promise<void> => {
  const release = capture.hold()
  try {
    let { at } = start
    if (start.lost > 0) await writeTo(out, hooks.gap(gapLine(start.lost, at)), signal)
    for (;;) {
      signal.throwIfAborted()
      const head = capture.positions.heads[part]
      if (at < head) {
        const next = part === 2 ? lineStart(capture, head) : head
        await writeTo(out, hooks.gap(gapLine(next - at, next)), signal)
        at = next
      }
      const bytes = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(0, partEnd(capture, part) - at)))
      const length = bytes.length === 0 ? 0 : capture.read(part, bytes, at)
      if (length > 0) {
        at += length
        await writeTo(out, length === bytes.length ? bytes : bytes.subarray(0, length), signal)
        continue
      }
      if (capture.ended) return
      hooks.idle?.()
      await changed(capture, signal)
      hooks.busy?.()
    }
  } finally {
    release()
  }
}
