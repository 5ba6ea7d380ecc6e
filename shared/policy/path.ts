/**
 * How a server may read the path of a request. A proxy that compares `/a/..%2fb` with a rule must not read it otherwise than the
 * server behind it, and servers differ: so a path has up to two readings, and a rule has to hold for both.
 */

/** Characters that mean the same whether escaped or not (RFC 3986, section 2.3). */
const unreserved = /^[A-Za-z0-9._~-]$/
/** A path in which nothing can be read in two ways. */
const plain = /^(?:\/(?!\.{0,2}(?:\/|$))[A-Za-z0-9._~!$&'()*+,=:@-]+)*\/?$/
// oxlint-disable-next-line no-control-regex
const forbidden = /[\x00-\x20\x7f]/
/** No server decodes more often than this on purpose. */
const maxDecodings = 4

const decodeUnreserved = (path: string): string =>
  path.replace(/%([0-9a-f]{2})/gi, (whole, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return unreserved.test(character) ? character : whole.toUpperCase()
  })

const decodeAll = (path: string): string =>
  path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Resolves `.`, `..` and empty segments; what climbs above the root stays at the root. */
const removeDots = (path: string): string => {
  const kept: string[] = []
  const segments = path.split('/')
  for (const segment of segments) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') kept.pop()
    else kept.push(segment)
  }
  const last = segments.at(-1)
  const directory = last === '' || last === '.' || last === '..'
  return `/${kept.join('/')}${directory && kept.length > 0 ? '/' : ''}`
}

/** As a generous server reads it: escapes decoded until none is left, backslashes as slashes, `..;x` as `..`. */
const generous = (path: string): string => {
  let text = path
  for (let round = 0; round < maxDecodings; round++) {
    const decoded = decodeAll(text)
    if (decoded === text) break
    text = decoded
  }
  return removeDots(text.replaceAll('\\', '/').replace(/(^|\/)(\.{1,2});[^/]*/g, '$1$2'))
}

export interface PathReadings {
  /** As RFC 3986 has it. */
  readonly exact: string
  /** As a server reads it that decodes everything; mostly the same. */
  readonly generous: string
}

/** Readings of a request target in origin form, without its query; undefined when no server should be asked that. */
export const pathReadings = (target: string): PathReadings | undefined => {
  const end = target.search(/[?#]/)
  const path = end < 0 ? target : target.slice(0, end)
  if (plain.test(path)) return { exact: path || '/', generous: path || '/' }
  if (!path.startsWith('/') || forbidden.test(path)) return path === '*' ? { exact: '*', generous: '*' } : undefined
  // %00 ends the path for some, %C0 and %C1 begin overlong spellings of ASCII for others.
  if (/%(?:0[0-9a-f]|1[0-9a-f]|7f|c[01])/i.test(path)) return undefined
  return { exact: removeDots(decodeUnreserved(path)), generous: generous(path) }
}

/** Whether `text` begins with `pieces`, any run of characters between one and the next. Linear: no pattern makes it slow. */
const beginsWith = (text: string, pieces: readonly string[]): boolean => {
  const [first = '', ...rest] = pieces
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return true
}

export interface PathPattern {
  matches(readings: PathReadings, every: boolean): boolean
}

/** A prefix in which `*` stands for any run of characters; `every` asks that both readings begin with it. */
export const pathPattern = (text: string): PathPattern => {
  const pieces = text.split('*')
  const literal = pieces.length === 1 ? [removeDots(decodeUnreserved(text))] : pieces.map(decodeUnreserved)
  const decoded = pieces.length === 1 ? [generous(text)] : pieces.map(decodeAll)
  return {
    matches({ exact, generous: loose }, every) {
      const strictly = beginsWith(exact, literal)
      if (strictly !== every) return strictly
      return beginsWith(loose, decoded)
    },
  }
}
