/** Lines of a stream, each bounded. */
import { fail } from '../../errors.ts'

/** Text between newlines, without them; what follows the last is a line too. Throws `bad_answer` for one that is too long. */
export async function* linesOf(
  pieces: AsyncIterable<Buffer>,
  { from, maxBytes }: { from: string; maxBytes: number },
): AsyncGenerator<string> {
  let begun: Buffer[] = []
  let size = 0
  const add = (piece: Buffer): void => {
    size += piece.length
    if (size > maxBytes) throw fail('bad_answer', { from, reason: `a line of more than ${maxBytes} bytes` })
    begun.push(piece)
  }
  const take = (): string => {
    const line = Buffer.concat(begun, size).toString()
    begun = []
    size = 0
    return line
  }
  for await (const piece of pieces) {
    let at = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, at)) {
      add(piece.subarray(at, end))
      yield take()
      at = end + 1
    }
    if (at < piece.length) add(piece.subarray(at))
  }
  if (size > 0) yield take()
}
