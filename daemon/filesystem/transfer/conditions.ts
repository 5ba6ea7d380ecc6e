/** Conditional and range requests of RFC 9110, sections 13 and 14. */
import type { Request } from '../../../shared/route.ts'
import type { FileStat } from '../port.ts'

export interface Validators {
  readonly etag: string
  /** The modification time as HTTP writes it: whole seconds. */
  readonly lastModified: string
  readonly seconds: number
}

export const validators = (stat: FileStat): Validators => {
  const seconds = Number(stat.mtimeNs / 1_000_000_000n)
  return {
    etag: `"${stat.mtimeNs.toString(16)}-${stat.size.toString(16)}"`,
    lastModified: new Date(seconds * 1000).toUTCString(),
    seconds,
  }
}

const header = (request: Request, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

const names = (list: string, etag: string): boolean =>
  list.trim() === '*' || list.split(',').some(one => one.trim().replace(/^W\//, '') === etag)

const secondsOf = (date: string): number => Math.floor(Date.parse(date) / 1000)

/** 304 or 412 when a condition says so, in the order of RFC 9110 section 13.2.2. */
export const precondition = (request: Request, { etag, seconds }: Validators): 304 | 412 | undefined => {
  const ifMatch = header(request, 'if-match')
  const unmodified = header(request, 'if-unmodified-since')
  if (ifMatch !== undefined ? !names(ifMatch, etag) : unmodified !== undefined && seconds > secondsOf(unmodified))
    return 412
  const noneMatch = header(request, 'if-none-match')
  const modified = header(request, 'if-modified-since')
  if (noneMatch !== undefined ? names(noneMatch, etag) : modified !== undefined && seconds <= secondsOf(modified))
    return 304
  return undefined
}

/** First and last byte, both included. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** With more ranges the whole file is sent, which is a valid answer. */
const maxRanges = 64

/** One of the ranges of the header; 'none' for one beyond the end, undefined for one that is malformed. */
const spanOf = (text: string, size: number): Span | 'none' | undefined => {
  const [, first = '', last = ''] = /^(\d*)\s*-\s*(\d*)$/.exec(text) ?? []
  if (first === '' && last === '') return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  return from >= size || to < from ? 'none' : { from, to }
}

/**
 * The ranges of the request, without those beyond the end. Undefined when there are none, they are malformed, they are
 * more than the whole file, or `If-Range` voids them; `'unsatisfiable'` when all are beyond the end.
 */
export const rangesOf = (
  request: Request,
  size: number,
  valid: Validators,
): readonly Span[] | 'unsatisfiable' | undefined => {
  const range = /^bytes\s*=(.*)$/is.exec(header(request, 'range') ?? '')
  if (!range) return undefined
  const condition = header(request, 'if-range')
  if (condition !== undefined && condition !== valid.etag && condition !== valid.lastModified) return undefined
  const texts = (range[1] as string).split(',').map(text => text.trim())
  const given = texts.filter(text => text !== '').map(text => spanOf(text, size))
  if (given.length === 0 || given.length > maxRanges || given.includes(undefined)) return undefined
  const spans = given.filter(span => typeof span === 'object')
  if (spans.length === 0) return 'unsatisfiable'
  return spans.reduce((sum, { from, to }) => sum + to - from + 1, 0) > size ? undefined : spans
}
