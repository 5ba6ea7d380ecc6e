/** Reads a stream of chunks in pieces of any size. */

export interface Bytes {
  /** Exactly `count` bytes, or fewer at the end of the stream. */
  take(count: number): Promise<Buffer>
  /** The next bytes, at most `limit`; undefined at the end of the stream. */
  some(limit: number): Promise<Buffer | undefined>
}

export const createBytes = (source: AsyncIterator<Buffer>): Bytes => {
  let chunk: Buffer = Buffer.alloc(0)
  const some = async (limit: number): Promise<Buffer | undefined> => {
    while (chunk.length === 0) {
      const { done, value } = await source.next()
      if (done) return undefined
      chunk = value
    }
    const piece = chunk.subarray(0, limit)
    chunk = chunk.subarray(piece.length)
    return piece
  }
  return {
    some,
    async take(count) {
      const pieces: Buffer[] = []
      for (let left = count; left > 0; ) {
        const piece = await some(left)
        if (piece === undefined) break
        pieces.push(piece)
        left -= piece.length
      }
      return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
    },
  }
}
