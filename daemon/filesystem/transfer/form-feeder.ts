/** Feeds the parser of forms, and moves the content of a large file past it: two to three times as fast as through it. */
import type busboy from 'busboy'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BodyDetacher } from '../../node-internals/detach-body.ts'
import type { Request } from '../../../shared/route.ts'
import type { Incoming } from './incoming.ts'
import { minDetachBytes, receiveContent, type Received } from './receive-content.ts'

/** How many parts of a form are looked at for large content; a form with more holds none. */
const maxHeads = 100
const headEnd = Buffer.from('\r\n\r\n')

/** What ends a part, for the plain forms that clients send; undefined when only the parser can know. */
export const delimiterOf = (detacher: BodyDetacher, { headers, body }: Request): Buffer | undefined => {
  if (!detacher.mayDetach(body, minDetachBytes)) return undefined
  const type = String(headers['content-type'])
  const match = /^multipart\/form-data; ?boundary=(?:"([^"\\]+)"|([^\s;"]+))$/i.exec(type)
  return match ? Buffer.from(`\r\n--${match[1] ?? match[2]}`, 'latin1') : undefined
}

interface FormFeeder {
  /** Gives a chunk of the body to the parser; a promise must be waited for before the next chunk. */
  take(chunk: Buffer, pauseBody: () => void): Promise<void> | undefined
  /**
   * Called when the parser begins a file. Moves its content past the parser, when it is large and its beginning is known;
   * else undefined, and the parser delivers the content.
   */
  bypass(work: (content: Incoming) => Promise<void>): Promise<void> | undefined
  /** Nothing reads the body past the parser any more. */
  settled(): Promise<void>
}

interface FeederOptions {
  readonly detacher: BodyDetacher
  readonly delimiter: Buffer | undefined
  readonly hashing: boolean
  readonly signal: AbortSignal
}

interface FeederContext extends FeederOptions {
  readonly parser: busboy.Busboy
  readonly body: Readable
  /** Heads of parts that are still looked for. */
  headsLeft: number
  /** Bytes of the body that were read so far. */
  taken: number
  pauseBody: () => void
  /** The parser was given the end of a head, and nothing after it. */
  headEnded: boolean
  /** The bytes right after the head that the parser is reading now, when they are known. */
  afterHead: Buffer | undefined
  bypassing: Promise<void> | undefined
}

const feed = ({ parser }: FeederContext, chunk: Buffer): Promise<void> | undefined =>
  parser.write(chunk) ? undefined : new Promise(resolve => void parser.once('drain', resolve))

const thenParse = (context: FeederContext, full: Promise<void> | undefined, rest: Buffer): Promise<void> | undefined =>
  full ? full.then(() => parse(context, rest)) : parse(context, rest)

/**
 * The first bytes of a part's content. The parser holds back what a delimiter may begin with, such as the end of a head,
 * so it reports a file only with the first byte after it that belongs to no delimiter.
 */
const feedContent = (context: FeederContext, content: Buffer, delimiter: Buffer): Promise<void> | undefined => {
  const different = content.findIndex((byte, index) => byte !== delimiter[index])
  if (different < 0 || context.parser.writableLength > 0) return parse(context, content)
  context.afterHead = content
  const full = feed(context, content.subarray(0, different + 1))
  context.afterHead = undefined
  return context.bypassing ?? thenParse(context, full, content.subarray(different + 1))
}

/** Feeds a chunk in pieces that end where a head ends. */
const parse = (context: FeederContext, chunk: Buffer): Promise<void> | undefined => {
  if (chunk.length === 0) return undefined
  if (context.headEnded && context.delimiter) {
    context.headEnded = false
    return feedContent(context, chunk, context.delimiter)
  }
  const at = context.headsLeft > 0 ? chunk.indexOf(headEnd) : -1
  if (at < 0) return feed(context, chunk)
  context.headsLeft--
  context.headEnded = true
  const end = at + headEnd.length
  return thenParse(context, feed(context, chunk.subarray(0, end)), chunk.subarray(end))
}

/** Gives the parser what follows the content that went past it. */
const resume = async (context: FeederContext, { ended, release }: Received, work: Promise<void>): Promise<void> => {
  await Promise.race([ended, work]).catch(() => {
    // Whoever asked for the work hears of it.
  })
  const { remainder, taken } = await release()
  context.taken += taken
  context.bypassing = undefined
  if (!context.signal.aborted) await parse(context, remainder)
}

const bypass = (context: FeederContext, work: (content: Incoming) => Promise<void>): Promise<void> | undefined => {
  const { detacher, body, taken, afterHead: ahead, delimiter, hashing } = context
  if (!ahead) return undefined
  context.pauseBody()
  const received = receiveContent(detacher, body, { taken, ahead, delimiter, hashing })
  if (!received) return undefined
  const working = work(received.incoming)
  context.bypassing = resume(context, received, working)
  return working
}

/** The parser sees every file that went past it as an empty one: it is given what surrounds the content. */
export const createFormFeeder = (parser: busboy.Busboy, body: Readable, options: FeederOptions): FormFeeder => {
  const context: FeederContext = {
    parser,
    body,
    ...options,
    headsLeft: options.delimiter ? maxHeads : 0,
    taken: 0,
    pauseBody: () => {},
    headEnded: false,
    afterHead: undefined,
    bypassing: undefined,
  }
  return {
    take(chunk, pauseBody) {
      context.pauseBody = pauseBody
      context.taken += chunk.length
      const waits = context.delimiter && options.detacher.needsTurn(body)
      return waits ? nextTurn().then(() => parse(context, chunk)) : parse(context, chunk)
    },
    bypass: work => bypass(context, work),
    settled: async () => {
      await context.bypassing?.catch(() => {
        // The failure of the form was reported already.
      })
    },
  }
}
