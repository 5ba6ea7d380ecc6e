import { fail } from '../../shared/errors.ts'

/** Non-overlapping occurrences, counted literally. */
const count = (text: string, part: string): number => text.split(part).length - 1

/**
 * Replaces `oldString`, once or everywhere. Throws `invalid_argument` when nothing, or more than was meant, would change.
 */
export const replaceText = (
  text: string,
  edit: { oldString: string; newString: string; replaceAll: boolean },
): { text: string; replaced: number } => {
  const { oldString, newString, replaceAll } = edit
  if (oldString === '') throw fail('invalid_argument', { field: 'oldString', reason: 'must not be empty' })
  if (oldString === newString)
    throw fail('invalid_argument', { field: 'newString', reason: 'oldString and newString are identical' })
  const found = count(text, oldString)
  if (found === 0) throw fail('invalid_argument', { field: 'oldString', reason: 'not found in the file' })
  if (found > 1 && !replaceAll)
    throw fail('invalid_argument', {
      field: 'oldString',
      reason: `occurs ${found} times; give more context or set replaceAll`,
    })
  return { text: text.split(oldString).join(newString), replaced: found }
}
