import type { Capture } from './capture.ts'
import { truncatedLine, type StreamIndex } from './lines.ts'

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The last `limit` bytes of a stream as text, after a marker line when that is not all of it. */
export const tailText = (capture: Capture, stream: StreamIndex, limit: number): string => {
  const { seen, heads } = capture.positions
  const end = seen[stream]
  if (end === 0) return ''
  const from = Math.max(heads[stream], end - limit)
  const bytes = Buffer.allocUnsafe(end - from)
  let length = 0
  while (length < bytes.length) {
    const read = capture.read(stream, bytes.subarray(length), from + length)
    if (read === 0) break
    length += read
  }
  let start = 0
  if (from > 0) while (start < 3 && start < length && isContinuation(bytes[start])) start++
  const text = bytes.toString('utf8', start, length)
  return from + start > 0 ? `${truncatedLine(from + start)}\n${text}` : text
}
