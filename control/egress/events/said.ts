/** What the daemon's local proxy says about the process that asks: believed by nobody, kept because it helps the owner. */
import { s } from '../../../shared/schema.ts'
import type { Said } from './events.ts'

const shape = s.object({ pid: s.optional(s.int()), process: s.optional(s.string()), command: s.optional(s.string()) })
const maxHeader = 4096
const maxText = 512

/** Reads the header's value: base64url of a JSON object. Anything else says nothing. */
export const readSaid = (header: string | undefined): Said | undefined => {
  if (header === undefined || header.length > maxHeader) return undefined
  try {
    const result = shape.safeParse(JSON.parse(Buffer.from(header, 'base64url').toString('utf8')))
    if (!result.success) return undefined
    const { pid, process, command } = result.data
    return { pid, process: process?.slice(0, maxText), command: command?.slice(0, maxText) }
  } catch {
    // Not what our daemon writes.
    return undefined
  }
}
