/** A whole body in memory, for those that are changed. */
import type { Readable } from 'node:stream'

/** Resolves with the body, or undefined when it does not have the length it was to have. */
export const collect = (body: Readable, length: number): Promise<Buffer | undefined> =>
  new Promise(resolve => {
    const pieces: Buffer[] = []
    let seen = 0
    body.on('data', (piece: Buffer) => {
      seen += piece.length
      if (seen > length) resolve(undefined)
      else pieces.push(piece)
    })
    body.on('end', () => resolve(seen === length ? Buffer.concat(pieces) : undefined))
    body.on('close', () => resolve(undefined))
    body.on('error', () => resolve(undefined))
  })
