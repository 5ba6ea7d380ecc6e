/**
 * Members put into a JSON object that is not ours: its own text is kept to the byte (large numbers, order, spaces), and a member
 * it has already is left alone.
 */

/** The object's own names; undefined when the text is not one JSON object. */
const namesOf = (text: string): ReadonlySet<string> | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Not JSON whatever it was called: it goes as it is.
    return undefined
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? new Set(Object.keys(value)) : undefined
}

/** Which of `names` the object lacks; undefined when the text is not one JSON object. */
export const missingMembers = (text: string, names: Iterable<string>): string[] | undefined => {
  const own = namesOf(text)
  return own && [...names].filter(name => !own.has(name))
}

/** The text of a JSON object with members before its own. */
export const addMembers = (text: string, members: readonly (readonly [string, string])[]): string => {
  if (members.length === 0) return text
  const open = text.indexOf('{') + 1
  const added = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')
  const empty = /^\s*\}/.test(text.slice(open))
  return `${text.slice(0, open)}${added}${empty ? '' : ','}${text.slice(open)}`
}
