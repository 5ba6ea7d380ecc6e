/** The head of a workload's answer, read strictly (RFC 9112): where a body ends must be the same to everybody who reads it. */

/** Where the body ends: nowhere, after so many bytes, with its last chunk, or with the connection. */
export type Framing = 'none' | 'chunks' | 'close' | { readonly bytes: number }

export interface AnswerHead {
  readonly status: number
  /** As it may be sent on. */
  readonly reason: string
  /** Names and values in turn, without those that frame the body in pieces. */
  readonly raw: readonly string[]
  readonly framing: Framing
  /** How long the connection may be kept for the next request; 0 when it may not. */
  readonly restMs: number
}

const firstLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([^\r\n]*))?$/
/** The spaces at the end belong to a value: nothing is tried twice, however long a line of spaces is. */
const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*(?:([!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)[\t ]*)?$/

const maxFields = 500
/** As long as a connection into a machine is kept, and what is left of the time that a workload names. */
const maxRestMs = 30_000
const marginMs = 1_000

/** A reason phrase that may be sent on; workloads write there what they like. */
const phrase = (text = ''): string => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')

const bad = (what: string): Error => new Error(`its answer is no HTTP: ${what}`)

interface Found {
  length?: string
  coding?: string
  connection: string
  keepAlive: string
}

const note = (found: Found, name: string, value: string): void => {
  switch (name) {
    case 'content-length':
      if (found.length !== undefined) throw bad('two lengths')
      if (!/^\d{1,15}$/.test(value)) throw bad('a length that is no number')
      found.length = value
      break
    case 'transfer-encoding':
      if (found.coding !== undefined || value.toLowerCase() !== 'chunked') throw bad('an unknown transfer encoding')
      found.coding = value
      break
    case 'connection':
      found.connection += `,${value.toLowerCase()}`
      break
    case 'keep-alive':
      found.keepAlive = value
      break
    default:
  }
}

const fieldsOf = (lines: readonly string[]): { raw: string[]; found: Found } => {
  if (lines.length > maxFields) throw bad('too many fields')
  const raw: string[] = []
  const found: Found = { connection: '', keepAlive: '' }
  for (let at = 1; at < lines.length; at++) {
    const match = field.exec(lines[at] as string)
    if (!match) throw bad('a line of its head is no field')
    const [, name = '', value = ''] = match
    note(found, name.toLowerCase(), value)
    raw.push(name, value)
  }
  return { raw, found }
}

const framingOf = ({ length, coding }: Found, status: number, method: string): Framing => {
  if (length !== undefined && coding !== undefined) throw bad('a length and chunks')
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return 'none'
  if (coding !== undefined) return 'chunks'
  return length === undefined ? 'close' : { bytes: Number(length) }
}

const restOf = ({ connection, keepAlive }: Found, isOld: boolean, framing: Framing): number => {
  if (isOld || framing === 'close' || /,[\t ]*close[\t ]*(?:,|$)/.test(connection)) return 0
  const seconds = /(?:^|[ ,])timeout=(\d{1,6})/i.exec(keepAlive)?.[1]
  return seconds === undefined ? maxRestMs : Math.min(maxRestMs, Number(seconds) * 1_000 - marginMs)
}

/** Reads a head, without the empty line that ends it, of an answer to `method`. Throws an Error that says what is wrong with it. */
export const readAnswerHead = (text: string, method: string): AnswerHead => {
  const lines = text.split('\r\n')
  const match = firstLine.exec(lines[0] as string)
  if (!match) throw bad('its first line')
  const [, minor, digits, reason] = match
  const status = Number(digits)
  const { raw, found } = fieldsOf(lines)
  if (minor === '0' && found.coding !== undefined) throw bad('chunks in HTTP/1.0')
  if (status === 101) throw bad('an upgrade that nobody has asked for')
  const framing = framingOf(found, status, method)
  return { status, reason: phrase(reason), raw, framing, restMs: restOf(found, minor === '0', framing) }
}
