/** Extended headers (POSIX.1-2001): records `length key=value\n` that overrule what the header after them says. */
import { textOf } from '../../../shared/utf8.ts'
import type { Header } from './header.ts'

export type Records = ReadonlyMap<string, string>

const broken = () => new Error('an extended header is broken')

/** The records of one header, over those that hold for the whole archive. Throws when it is broken. */
export const decodeRecords = (bytes: Buffer, before: Records): Records => {
  const records = new Map(before)
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(0x20, at)
    const digits = blank < 0 ? '' : bytes.toString('latin1', at, blank)
    const end = at + (/^\d{1,10}$/.test(digits) ? Number(digits) : 0)
    const equals = bytes.indexOf(0x3d, blank)
    if (end > bytes.length || equals < 0 || equals >= end || bytes[end - 1] !== 0x0a) throw broken()
    const key = bytes.toString('utf8', blank + 1, equals)
    const value = textOf(bytes.subarray(equals + 1, end - 1))
    if (value === '') records.delete(key)
    else records.set(key, value)
    at = end
  }
  return records
}

/** A whole number that is not negative; undefined when there is none of that key. */
export const wholeOf = (records: Records, key: string): number | undefined => {
  const text = records.get(key)
  if (text === undefined) return undefined
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) throw broken()
  return value
}

/** The header as the records want it. */
export const overruled = (header: Header, records: Records): Header => {
  if (records.size === 0) return header
  const mtime = records.get('mtime')
  if (mtime !== undefined && !/^-?\d{1,15}(\.\d*)?$/.test(mtime)) throw broken()
  return {
    ...header,
    name: records.get('path') ?? header.name,
    linkname: records.get('linkpath') ?? header.linkname,
    size: wholeOf(records, 'size') ?? header.size,
    uid: wholeOf(records, 'uid') ?? header.uid,
    gid: wholeOf(records, 'gid') ?? header.gid,
    mtime: mtime === undefined ? header.mtime : Number(mtime),
  }
}
