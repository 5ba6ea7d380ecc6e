import { fail } from '../../shared/errors.ts'
import type { FilePort } from '../filesystem/port.ts'
import { readSource } from './source.ts'

const maxFileBytes = 64 * 1024 * 1024

/**
 * Where lines `start` to `end` are in a text, and how many lines it has; a line feed at its end does not begin another line. Not as a
 * list of lines, which takes many times as much as the text where they are short.
 */
const placeOf = (text: string, start: number, end: number): { from: number; to: number; count: number } => {
  let [from, to, count] = [0, text.length, 0]
  for (let at = 0; at < text.length; count++) {
    const feed = text.indexOf('\n', at)
    const stop = feed < 0 ? text.length : feed
    if (count + 1 === start) from = at
    if (count + 1 === end) to = stop
    at = stop + 1
  }
  return { from, to, count }
}

/**
 * Lines `start` to `end`, counted from 1 and both included, joined by line feeds. Throws `invalid_argument` naming the
 * wrong end of the range, `path_not_found`, `unprocessable`.
 */
export const readRange = async (port: FilePort, path: string, start: number, end: number): Promise<string> => {
  const text = await readSource(port, path, maxFileBytes)
  if (text === undefined) throw fail('path_not_found', { path, reason: 'no such file or directory' })
  const { from, to, count } = placeOf(text, start, end)
  const refuse = (field: string, reason: string) => fail('invalid_argument', { field, reason })
  if (start < 1) throw refuse('startLineOneIndexed', 'must be at least 1')
  if (end > count) throw refuse('endLineOneIndexedInclusive', `the file has ${count} lines`)
  if (start > end) throw refuse('endLineOneIndexedInclusive', 'must not be before startLineOneIndexed')
  return text.slice(from, to)
}
