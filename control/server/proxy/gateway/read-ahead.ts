/** A look at the body of a request that is sent on afterwards as if nobody had looked. */
import type { IncomingMessage } from 'node:http'

type Without = 'empty' | 'gone' | 'large'

/** The whole body, which is still there to be read; `empty` when it has none, `gone` when the client is, `large` when it has more than so many bytes. */
export const readAhead = (request: IncomingMessage, most: number): Promise<Buffer | Without> =>
  new Promise(resolve => {
    const pieces: Buffer[] = []
    let size = 0
    const done = (what: Buffer | Without) => {
      request.off('readable', read).off('end', empty).off('close', gone).off('error', gone)
      resolve(what)
    }
    const gone = () => done('gone')
    const empty = () => done('empty')
    const read = () => {
      for (let piece = request.read() as Buffer | null; piece; piece = request.read() as Buffer | null) {
        pieces.push(piece)
        size += piece.length
      }
      if (size > most) return done('large')
      if (!request.complete) return
      if (size === 0) return empty()
      const body = Buffer.concat(pieces)
      // In this same turn: once the end has been told, nothing can be put back.
      request.unshift(body)
      done(body)
    }
    if (request.destroyed) return gone()
    request.on('readable', read).on('end', empty).on('close', gone).on('error', gone)
    return undefined
  })
