/** Feeds the parser of forms, and takes the content of a large file past it. */
import type busboy from 'busboy'
import type { Readable } from 'node:stream'
import { mayDetachBody } from '../../node-internals/detach-body.ts'
import type { Request } from '../../../shared/route.ts'
import { minDetachBytes, receiveContent, type Incoming, type Received } from './incoming.ts'

/** Parts that are looked at as they begin: a form of many is no large file. */
const maxHeads = 100
const headEnd = Buffer.from('\r\n\r\n')

/** What ends a part, of the plain forms that clients send; undefined when the parser is to find it. */
export const delimiterOf = ({ headers, body }: Request): Buffer | undefined => {
  if (!mayDetachBody(body, minDetachBytes)) return undefined
  const type = String(headers['content-type'])
  const match = /^multipart\/form-data; ?boundary=(?:"([^"\\]+)"|([^\s;"]+))$/i.exec(type)
  return match ? Buffer.from(`\r\n--${match[1] ?? match[2]}`, 'latin1') : undefined
}

export interface Feeder {
  /** Gives a chunk of the body to the parser; a promise is to be waited for before the next. */
  take(chunk: Buffer, hold: () => void): Promise<void> | undefined
  /** The parser begins a file: takes its content past the parser, when it is large and where it begins is known. */
  pass(work: (content: Incoming) => Promise<void>): Promise<void> | undefined
  /** Nothing reads the body past the parser any more. */
  settled(): Promise<void>
}

/**
 * Feeds the parser, which sees every large file as an empty one: what surrounds the content is given to it, and it ends
 * the part as it would have.
 */
export const createFormFeeder = (
  parser: busboy.Busboy,
  body: Readable,
  options: { delimiter: Buffer | undefined; hashing: boolean; signal: AbortSignal },
): Feeder => {
  const { delimiter, hashing, signal } = options
  let heads = delimiter ? maxHeads : 0
  let taken = 0
  let hold = () => {}
  /** What the parser was given last is the end of a head. */
  let headEnded = false
  /** What comes right behind the head that the parser is reading now, when that is known. */
  let afterHead: Buffer | undefined
  let passing: Promise<void> | undefined

  const feed = (chunk: Buffer): Promise<void> | undefined =>
    parser.write(chunk) ? undefined : new Promise(resolve => void parser.once('drain', resolve))
  /** The parser holds back what a delimiter may begin with, such as the end of a head: it hears of a file one byte late. */
  const begin = (content: Buffer, end: Buffer): Promise<void> | undefined => {
    const different = content.findIndex((byte, index) => byte !== end[index])
    if (different < 0 || parser.writableLength > 0) return parse(content)
    afterHead = content
    const full = feed(content.subarray(0, different + 1))
    afterHead = undefined
    const rest = content.subarray(different + 1)
    return passing ?? (full ? full.then(() => parse(rest)) : parse(rest))
  }
  const parse = (chunk: Buffer): Promise<void> | undefined => {
    if (chunk.length === 0) return undefined
    if (headEnded && delimiter) {
      headEnded = false
      return begin(chunk, delimiter)
    }
    const at = heads > 0 ? chunk.indexOf(headEnd) : -1
    if (at < 0) return feed(chunk)
    heads--
    headEnded = true
    const rest = chunk.subarray(at + headEnd.length)
    const full = feed(chunk.subarray(0, at + headEnd.length))
    return full ? full.then(() => parse(rest)) : parse(rest)
  }
  const goOn = async ({ ended, release }: Received, work: Promise<void>): Promise<void> => {
    await Promise.race([ended, work]).catch(() => {
      // Told to whoever asked for the work.
    })
    const { behind, taken: more } = await release()
    taken += more
    passing = undefined
    if (!signal.aborted) await parse(behind)
  }
  return {
    take(chunk, holdBody) {
      hold = holdBody
      taken += chunk.length
      return parse(chunk)
    },
    pass(work) {
      if (!afterHead) return undefined
      hold()
      const received = receiveContent(body, { taken, ahead: afterHead, delimiter, hashing })
      if (!received) return undefined
      const working = work(received.incoming)
      passing = goOn(received, working)
      return working
    },
    settled: async () => {
      await passing?.catch(() => {
        // The failure of the form is told already.
      })
    },
  }
}
