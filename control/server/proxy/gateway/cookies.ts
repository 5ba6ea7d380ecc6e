/** The cookie of a login, beside those of applications: only the gateway reads it, and only the host sets it. */

/** Holds a sealed pass (`pass.ts`). Its `Path` says what it is for. */
export const accessCookie = 'hutch_access'

const nameOf = (pair: string): string => pair.slice(0, pair.indexOf('=')).trim()

/** Every value that a `Cookie` header has for the login; browsers send the one with the longest path first. */
export const accessValues = (header: string | undefined): string[] =>
  (header ?? '')
    .split(';')
    .filter(pair => nameOf(pair) === accessCookie)
    .map(pair => pair.slice(pair.indexOf('=') + 1).trim())

/** A `Cookie` header without the login; undefined when nothing is left. */
export const withoutAccess = (header: string): string | undefined => {
  const kept = header.split(';').filter(pair => nameOf(pair) !== accessCookie)
  return kept.length > 0 ? kept.join(';').trim() || undefined : undefined
}

/** Whether a workload's `Set-Cookie` would set the login. One without a name (`=a=b`) is sent by browsers as its value is: `a=b`. */
export const setsAccess = (value: string): boolean => nameOf(`${value.replace(/^[\s=]+/, '')}=`) === accessCookie
