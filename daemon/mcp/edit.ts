import { fail } from '../../shared/errors.ts'

/** Non-overlapping places of a part, counted literally; in bytes, which take no room of the heap. */
const count = (text: Buffer, part: Buffer): number => {
  let found = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found++
  return found
}

const replaced = (text: Buffer, part: Buffer, by: Buffer, size: number): Buffer => {
  const made = Buffer.allocUnsafe(size)
  let [from, to] = [0, 0]
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, from)) {
    to += text.copy(made, to, from, at)
    to += by.copy(made, to)
    from = at + part.length
  }
  text.copy(made, to, from)
  return made
}

/**
 * Replaces `oldString`, once or everywhere, in a text of UTF-8. Throws `invalid_argument` when nothing, or more than was meant, would
 * change, and when more than `most` bytes would come of it.
 */
export const replaceText = (
  text: Buffer,
  edit: { oldString: string; newString: string; replaceAll: boolean; most: number },
): { text: Buffer; replaced: number } => {
  const { oldString, newString, replaceAll, most } = edit
  const refuse = (field: string, reason: string) => fail('invalid_argument', { field, reason })
  if (oldString === '') throw refuse('oldString', 'must not be empty')
  if (oldString === newString) throw refuse('newString', 'oldString and newString are identical')
  const [part, by] = [Buffer.from(oldString), Buffer.from(newString)]
  // Half a pair is in no text of UTF-8, and would be looked for as another letter.
  const found = oldString.isWellFormed() ? count(text, part) : 0
  if (found === 0) throw refuse('oldString', 'not found in the file')
  if (found > 1 && !replaceAll) throw refuse('oldString', `occurs ${found} times; give more context or set replaceAll`)
  const size = text.length + found * (by.length - part.length)
  if (size > most) throw refuse('newString', `the file would be larger than ${most} bytes`)
  return { text: replaced(text, part, by, size), replaced: found }
}
