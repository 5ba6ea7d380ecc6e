/** Heads of HTTP/1.1 that two programs could read in two ways (RFC 9112): one table for every reader there is here. */

const ok = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines].join('\r\n')

/** Lines about a body that nobody may take, in requests and in answers. */
const framing: Readonly<Record<string, readonly string[]>> = {
  'a length and chunks': ['Content-Length: 5', 'Transfer-Encoding: chunked'],
  'chunks and a length': ['Transfer-Encoding: chunked', 'Content-Length: 5'],
  'two lengths': ['Content-Length: 5', 'Content-Length: 6'],
  'a signed length': ['Content-Length: +5'],
  'a negative length': ['Content-Length: -5'],
  'a length in hexadecimal': ['Content-Length: 0x5'],
  'a length with a blank in it': ['Content-Length: 5 5'],
  'a list of lengths': ['Content-Length: 5, 5'],
  'an empty length': ['Content-Length:'],
  'a length that no number holds': ['Content-Length: 99999999999999999999'],
  'chunks twice': ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
  'chunks twice in a list': ['Transfer-Encoding: chunked, chunked'],
  'chunks that are not the last encoding': ['Transfer-Encoding: chunked, identity'],
  'an encoding that nobody knows': ['Transfer-Encoding: xchunked'],
  'an encoding in quotes': ['Transfer-Encoding: "chunked"'],
  'a byte behind the encoding': ['Transfer-Encoding: chunked\x0b'],
}

/** Lines that are no fields. */
const fields: Readonly<Record<string, readonly string[]>> = {
  'a blank before the colon': ['Transfer-Encoding : chunked'],
  'a tab before the colon': ['Content-Length\t: 5'],
  'a folded line': ['A: b', ' c'],
  'a line that begins with a blank': [' A: b'],
  'a line feed alone': ['A: b\nTransfer-Encoding: chunked'],
  'a return alone': ['A: b\rTransfer-Encoding: chunked'],
  'a null in a value': ['A: b\0c'],
  'a control character in a value': ['A: b\x01c'],
  'a delete character in a value': ['A: b\x7fc'],
  'a null in a name': ['A\0B: c'],
  'a blank in a name': ['A B: c'],
  'a bracket in a name': ['A(B): c'],
  'a byte beyond ASCII in a name': ['A\xe9: c'],
  'a line without a colon': ['A'],
  'no name': [': b'],
}

const all = (head: (lines: readonly string[]) => string): Record<string, string> =>
  Object.fromEntries(Object.entries({ ...framing, ...fields }).map(([name, lines]) => [name, head(lines)]))

/** Requests for `target` of `host`, without the empty line that ends them. */
export const oddRequests = (host: string, target = '/'): Readonly<Record<string, string>> => {
  const head = (first: string, lines: readonly string[] = []) => [first, `Host: ${host}`, ...lines].join('\r\n')
  return {
    ...all(lines => head(`POST ${target} HTTP/1.1`, lines)),
    'two hosts': head(`POST ${target} HTTP/1.1`, ['Host: y.example']),
    'another protocol': head(`POST ${target} HTTQ/1.1`),
    'a version in small letters': head(`POST ${target} http/1.1`),
    'a version of three parts': head(`POST ${target} HTTP/1.1.1`),
    'a version of two digits': head(`POST ${target} HTTP/1.10`),
    'version 2': head(`POST ${target} HTTP/2.0`),
    'version 0.9': head(`POST ${target} HTTP/0.9`),
    'no version': head(`POST ${target}`),
    'a blank in the target': head(`POST ${target}a b HTTP/1.1`),
    'a control character in the target': head(`POST ${target}a\x01b HTTP/1.1`),
    'a return in the target': head(`POST ${target}a\rb HTTP/1.1`),
    'a method of no letters': head(`P@ST ${target} HTTP/1.1`),
    'a blank before the method': head(` POST ${target} HTTP/1.1`),
  }
}

export const oddAnswers: Readonly<Record<string, string>> = {
  ...all(lines => ok(...lines)),
  'another protocol': 'HTTQ/1.1 200 OK',
  'a version in small letters': 'http/1.1 200 OK',
  'a version of three parts': 'HTTP/1.1.1 200 OK',
  'a status of two digits': 'HTTP/1.1 20 OK',
  'a status of four digits': 'HTTP/1.1 2000 OK',
  'a status of letters': 'HTTP/1.1 2x0 OK',
  'a status that begins with nothing': 'HTTP/1.1 000 OK',
  'a blank before the version': ' HTTP/1.1 200 OK',
  'two blanks before the status': 'HTTP/1.1  200 OK',
  'a line feed in the reason': 'HTTP/1.1 200 O\nTransfer-Encoding: chunked',
  'a return in the reason': 'HTTP/1.1 200 O\rTransfer-Encoding: chunked',
  'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked',
}
