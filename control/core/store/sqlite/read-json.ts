/** The one way to read a column that holds JSON. */
import { fail, messageOf } from '../../../../shared/errors.ts'

/** Which column of which row. */
export interface Place {
  readonly table: string
  /** What tells the row from others; no secret. */
  readonly row: string
  readonly column: string
}

export const unreadable = ({ table, row, column }: Place, reason: string, cause?: unknown) =>
  fail(
    'unavailable',
    {
      what: `${column} of ${row} in the table ${table} of the database cannot be read (${reason})`,
      next: 'restore the database from a backup, or mend the row by hand',
    },
    cause,
  )

const objectIn = (value: unknown, members: readonly string[]): value is object =>
  typeof value === 'object' &&
  value !== null &&
  members.every(name => objectIn((value as Record<string, unknown>)[name], []))

/**
 * The object or list in `text`, in which `members` are objects. Throws `unavailable`, naming the row: who reads many goes on with the
 * others, and what belongs to the row has to stay as it is, for nobody knows what it may do.
 */
export const readJson = <T extends object>(text: string, place: Place, members: readonly string[] = []): T => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw unreadable(place, messageOf(error), error)
  }
  if (!objectIn(value, members))
    throw unreadable(place, `no object${members.map(name => `, or none in ${name}`).join('')}`)
  return value as T
}

/** What all rows are, without those that cannot be read: these are given to `unreadable`. Without one the first of them is thrown. */
export const readEach = <Row, Read>(
  rows: readonly Row[],
  read: (row: Row) => Read,
  unreadable: ((row: Row, error: unknown) => void) | undefined,
): Read[] =>
  rows.flatMap(row => {
    try {
      return [read(row)]
    } catch (error) {
      if (!unreadable) throw error
      unreadable(row, error)
      return []
    }
  })
