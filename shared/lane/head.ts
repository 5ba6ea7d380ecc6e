/**
 * The heads of ordinary requests, read strictly (RFC 9112, sections 2 to 6): what is odd in any way is for another reader,
 * which knows how to refuse it. Nothing is accepted here that llhttp refuses.
 */

import type { Keeping } from './turn.ts'

/** What the lines behind the first say. */
export interface Fields extends Keeping {
  /** As they were sent. */
  readonly text: string
  /** Names and values in turn, as they were sent. */
  readonly raw: readonly string[]
  /** By lower-case name; each came once. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Bytes of the body; 0 for none. */
  readonly length: number
  /** Another request may follow. */
  readonly keepAlive: boolean
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expects: boolean
}

export interface Head {
  readonly method: string
  /** Begins with a slash. */
  readonly url: string
  readonly fields: Fields
}

/** Visible ASCII without `#`, which no target has. */
const firstLine = /^(GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS) (\/[!"$-~]*) HTTP\/1\.1$/

/** No space before the colon, no continued lines, no control characters. The spaces at the end belong to a value: nothing is tried twice. */
const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*(?:([!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)[\t ]*)?$/

/** Such a request has a body in pieces, or becomes something else, or is none. */
const extraordinary: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'trailer',
  'set-cookie',
])

const maxFields = 200

type Values = Record<string, string | undefined>

/** Names, values and a table of them; undefined where a line is no field, one came twice, or one is not for here. */
const tableOf = (text: string): { raw: string[]; headers: Values } | undefined => {
  const raw: string[] = []
  const headers: Values = Object.create(null) as Values
  const lines = text.split('\r\n')
  if (lines.length > maxFields) return undefined
  for (const line of lines) {
    const match = field.exec(line)
    if (!match) return undefined
    const [, name = '', value = ''] = match
    const lower = name.toLowerCase()
    if (extraordinary.has(lower) || lower in headers) return undefined
    headers[lower] = value
    raw.push(name, value)
  }
  return { raw, headers }
}

const lengthOf = (value: string | undefined): number | undefined => {
  if (value === undefined) return 0
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

/** Undefined for what is not ordinary. */
const fieldsOf = (text: string): Fields | undefined => {
  const table = tableOf(text)
  if (!table) return undefined
  const { headers } = table
  const { host, expect, connection = 'keep-alive' } = headers
  const length = lengthOf(headers['content-length'])
  const known = /^(?:keep-alive|close)$/i.test(connection)
  if (!host || length === undefined || !known || (expect !== undefined && !/^100-continue$/i.test(expect)))
    return undefined
  const keeping = { keptBy: undefined, keptFor: '', kept: undefined }
  return { text, ...table, ...keeping, length, keepAlive: connection.length > 5, expects: expect !== undefined }
}

/** A head as text, without the empty line that ends it; undefined for what is not ordinary. `last` are the fields of the request before, which clients repeat. */
export const readHead = (text: string, last: Fields | undefined): Head | undefined => {
  const cut = text.indexOf('\r\n')
  const match = cut < 0 ? null : firstLine.exec(text.slice(0, cut))
  if (!match) return undefined
  const rest = text.slice(cut + 2)
  const fields = last?.text === rest ? last : fieldsOf(rest)
  if (!fields) return undefined
  const [, method = '', url = ''] = match
  return { method, url, fields }
}
