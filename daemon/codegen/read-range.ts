import { fail } from '../../shared/errors.ts'
import type { FilePort } from '../filesystem/port.ts'
import { readSource } from './source.ts'

const maxFileBytes = 64 * 1024 * 1024

/** The lines of a text; a line feed at its end does not begin another line. */
const linesOf = (text: string): string[] => {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/**
 * Lines `start` to `end`, counted from 1 and both included, joined by line feeds. Throws `invalid_argument` naming the
 * wrong end of the range, `path_not_found`, `unprocessable`.
 */
export const readRange = async (port: FilePort, path: string, start: number, end: number): Promise<string> => {
  const text = await readSource(port, path, maxFileBytes)
  if (text === undefined) throw fail('path_not_found', { path, reason: 'no such file or directory' })
  const lines = linesOf(text)
  const refuse = (field: string, reason: string) => fail('invalid_argument', { field, reason })
  if (start < 1) throw refuse('startLineOneIndexed', 'must be at least 1')
  if (end > lines.length) throw refuse('endLineOneIndexedInclusive', `the file has ${lines.length} lines`)
  if (start > end) throw refuse('endLineOneIndexedInclusive', 'must not be before startLineOneIndexed')
  return lines.slice(start - 1, end).join('\n')
}
