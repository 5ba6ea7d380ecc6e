/** Times as clients write them. */

/** Whether it is a date or an instant of ISO 8601, and one that there is: `Date.parse` takes numbers, too, and 30 February for 2 March. */
export const isInstant = (value: string): boolean => {
  const [, date] = /^(\d{4}-\d\d-\d\d)(?:[Tt ]|$)/.exec(value) ?? []
  if (date === undefined || Number.isNaN(Date.parse(value))) return false
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}
