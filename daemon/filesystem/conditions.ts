/** Conditional and range requests of RFC 9110, sections 13 and 14. */
import type { Request } from '../../shared/route.ts'
import type { FileStat } from './port.ts'

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

/**
 * The one range asked for; undefined for none, several (the whole file is a valid answer) or one that `If-Range`
 * makes void; `'unsatisfiable'` for one beyond the end.
 */
export const rangeOf = (request: Request, size: number, valid: Validators): Span | 'unsatisfiable' | undefined => {
  const range = /^bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header(request, 'range') ?? '')
  if (!range) return undefined
  const condition = header(request, 'if-range')
  if (condition !== undefined && condition !== valid.etag && condition !== valid.lastModified) return undefined
  const [, first = '', last = ''] = range
  if (first === '' && last === '') return undefined
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < from) return undefined
  return from >= size || to < from ? 'unsatisfiable' : { from, to }
}
