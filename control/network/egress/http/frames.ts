/** Reads what a client says over a WebSocket (RFC 6455, section 5.2): its messages without their masks. */

export interface FramesTo {
  /** The next piece of what messages say, however they are cut into frames. */
  piece(bytes: Buffer): void
  /** A control frame's own text, which may stand inside a message. */
  control(bytes: Buffer): void
}

const maxControl = 125
const dataFrames: ReadonlySet<number> = new Set([0, 1, 2])
const controlFrames: ReadonlySet<number> = new Set([8, 9, 10])

interface Head {
  /** Bytes of the head itself. */
  readonly size: number
  readonly isControl: boolean
  readonly length: number
  readonly mask: Buffer
}

/** Undefined when more bytes are needed; a text says why it cannot be read. */
const readHead = (bytes: Buffer): Head | string | undefined => {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return undefined
  const isControl = controlFrames.has(first & 15)
  // No extension was agreed on, so nothing may be packed.
  if ((first & 0x70) !== 0) return 'a frame of an extension'
  if (!isControl && !dataFrames.has(first & 15)) return 'a frame of no known kind'
  if ((second & 0x80) === 0) return 'a frame without a mask'
  const short = second & 127
  if (isControl && short > maxControl) return 'a long control frame'
  const start = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < start + 4) return undefined
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (!Number.isSafeInteger(length)) return 'a frame of that length'
  return { size: start + 4, isControl, length, mask: Buffer.from(bytes.subarray(start, start + 4)) }
}

/** Gives a function to feed with what comes; it answers why it cannot go on, and nothing is to be fed to it then. */
export const createFrameReader = (to: FramesTo): ((bytes: Buffer) => string | undefined) => {
  let waiting: Buffer = Buffer.alloc(0)
  let frame: Head | undefined
  let seen = 0
  let control: Buffer[] = []
  const take = (bytes: Buffer, { isControl, mask }: Head): void => {
    const plain = Buffer.allocUnsafe(bytes.length)
    for (let at = 0; at < bytes.length; at++) plain[at] = (bytes[at] as number) ^ (mask[(seen + at) & 3] as number)
    seen += bytes.length
    if (isControl) control.push(plain)
    else to.piece(plain)
  }
  return bytes => {
    let left = waiting.length > 0 ? Buffer.concat([waiting, bytes]) : bytes
    waiting = Buffer.alloc(0)
    for (;;) {
      if (!frame) {
        const head = readHead(left)
        if (typeof head === 'string') return head
        if (!head) break
        frame = head
        seen = 0
        left = left.subarray(head.size)
      }
      const now = left.subarray(0, frame.length - seen)
      left = left.subarray(now.length)
      take(now, frame)
      if (seen < frame.length) break
      if (frame.isControl) to.control(Buffer.concat(control))
      control = []
      frame = undefined
    }
    // The beginning of a head: thirteen bytes at most.
    waiting = Buffer.from(left)
    return undefined
  }
}
