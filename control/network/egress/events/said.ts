/** What the daemon's local proxy says about the process that asks: believed by nobody, kept because it helps the owner. */
import { s } from '../../../../shared/schema.ts'
import type { Said } from './events.ts'
import { maskCommand } from './mask.ts'

const shape = s.object({ pid: s.optional(s.int()), process: s.optional(s.string()), command: s.optional(s.string()) })
const maxHeader = 4096
const maxText = 512

/** As it is kept: without the values that `mask` knows, and without what looks like a credential. */
export const maskSaid = (
  mask: (text: string) => string,
  { pid, process, words }: { pid?: number | undefined; process: string; words: readonly string[] },
): Said => ({
  pid,
  process: mask(process).slice(0, maxText),
  // Cut last: half a value would not be known any more.
  command: maskCommand(words.map(mask)).slice(0, maxText),
})

/** Reads the header's value: base64url of a JSON object. Anything else says nothing. */
export const readSaid = (header: string | undefined, mask: (text: string) => string): Said | undefined => {
  if (header === undefined || header.length > maxHeader) return undefined
  try {
    const result = shape.safeParse(JSON.parse(Buffer.from(header, 'base64url').toString('utf8')))
    if (!result.success) return undefined
    const { pid, process = '', command = '' } = result.data
    return maskSaid(mask, { pid, process, words: command.split(' ') })
  } catch {
    // Not what our daemon writes.
    return undefined
  }
}
