/** What one call has used, read from its answer as it passes, or estimated where the provider does not say. */
import type { Dialect } from './dialects/dialect.ts'
import { countTokens, textIn } from './estimate.ts'
import { dataOf } from './frames.ts'
import { parsed, type Json } from './json.ts'
import { readTold, usageAtEnd, type Told } from './told.ts'

export interface Usage {
  readonly input: number
  readonly output: number
  /** Of the input, what came from a cache. */
  readonly cached: number
  /** Of the output, what was thought and not said. */
  readonly reasoning: number
  /** At least one of them was not told by the provider. */
  readonly estimated: boolean
}

export const noUsage: Usage = { input: 0, output: 0, cached: 0, reasoning: 0, estimated: false }

/** Bytes of events that are kept unread: most are never parsed, since the last one tells. */
const mostUnread = 64 * 1024

/** Characters of what was written; beyond, it counts as what it began like. */
const mostText = 1024 * 1024

/** Bytes of a whole answer that are kept to be read. */
const mostBody = 8 * 1024 * 1024

export interface Counting {
  /** One event of a stream. */
  event(frame: Buffer): void
  /** A piece of a whole answer. */
  piece(bytes: Buffer): void
  /** The last event of the stream came. */
  readonly hasEnded: boolean
  /** Text came, or something that may be text. */
  readonly hasBegun: boolean
  settle(request: () => Json): Promise<Usage>
}

const nothing = Buffer.alloc(0)

/** Strings under `"text"` and `"content"` in JSON that is not whole. */
const textOfPart = (body: string): string =>
  [...body.matchAll(/"(?:text|content)"\s*:\s*"((?:[^"\\]|\\.)*)/g)].map(([, text]) => text as string).join('')

class Reader implements Counting {
  hasEnded = false
  hasBegun = false
  readonly #dialect: Dialect
  readonly #told: Told = {}
  readonly #ends: readonly Buffer[]
  readonly #marks: readonly Buffer[]
  #unread: Buffer[] = []
  #unreadBytes = 0
  #text = ''
  #textLength = 0
  #pieces: Buffer[] = []
  #size = 0
  #streams = false

  constructor(dialect: Dialect) {
    this.#dialect = dialect
    this.#ends = dialect.ends.map(end => Buffer.from(end))
    this.#marks = dialect.usage.marks.map(mark => Buffer.from(mark))
  }

  event(frame: Buffer): void {
    this.hasBegun = true
    this.#streams = true
    if (!this.hasEnded && this.#ends.some(end => frame.includes(end))) this.hasEnded = true
    if (this.#marks.some(mark => frame.includes(mark))) {
      const { usage, counts } = this.#dialect
      readTold(parsed(dataOf(frame)), usage.stream, counts, this.#told)
    }
    if (this.#dialect.silent) return
    this.#unread.push(frame)
    this.#unreadBytes += frame.length
    if (this.#unreadBytes > mostUnread) this.#readText()
  }

  piece(bytes: Buffer): void {
    this.hasBegun = true
    this.#size += bytes.length
    if (this.#size <= mostBody) this.#pieces.push(bytes)
    // The end is where usage stands.
    else this.#pieces = [Buffer.concat([...this.#pieces.slice(-1), bytes]).subarray(-mostUnread)]
  }

  #add(text: string): void {
    this.#textLength += text.length
    if (this.#text.length < mostText) this.#text += text
  }

  #readText(): void {
    for (const frame of this.#unread) {
      const data = dataOf(frame)
      const event = parsed(data)
      // What is no JSON was text to whoever sent it.
      if (event !== undefined) this.#add(this.#dialect.textOf(event))
    }
    this.#unread = []
    this.#unreadBytes = 0
  }

  #readBody(): void {
    const body = this.#pieces.length > 0 ? Buffer.concat(this.#pieces) : nothing
    this.#pieces = []
    if (body.length === 0) return
    const whole = this.#size <= mostBody ? parsed(body.toString('utf8')) : undefined
    const last = Array.isArray(whole) ? (whole as readonly Json[]).at(-1) : whole
    const { usage, counts } = this.#dialect
    readTold(last ?? usageAtEnd(body, this.#dialect), usage.body, counts, this.#told)
    if (!this.#dialect.silent)
      this.#add(whole === undefined ? textOfPart(body.toString('utf8')) : this.#dialect.textOf(whole))
  }

  async settle(request: () => Json): Promise<Usage> {
    this.#readBody()
    const told = this.#told
    const isSilent = this.#dialect.silent === true
    // What the first events of a stream tell of its end is no count.
    const isBrokenOff = this.#streams && !this.hasEnded && this.#dialect.ends.length > 0
    const needsOutput = !isSilent && (!told.output || isBrokenOff)
    if (needsOutput) this.#readText()
    const text = this.#text
    const ratio = text.length > 0 ? this.#textLength / text.length : 1
    const counted = needsOutput ? Math.round((await countTokens(text)) * ratio) : 0
    const output = Math.max(counted, told.output ?? 0)
    const needsInput = !told.input && this.#dialect.counts.sent.length > 0 && this.#dialect.name !== 'unknown'
    const input = needsInput ? await countTokens(textIn(request())) : (told.input ?? 0)
    return {
      input,
      output,
      cached: Math.min(told.cached ?? 0, input),
      reasoning: Math.min(told.reasoning ?? 0, output),
      estimated: counted > (told.output ?? 0) || (needsInput && input > 0),
    }
  }
}

export const counting = (dialect: Dialect): Counting => new Reader(dialect)
