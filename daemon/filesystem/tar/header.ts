/** The 512 bytes before each entry of a tar archive: ustar (POSIX.1-1988) with GNU's numbers for what does not fit. */
import { bytesOf, textOf } from '../../../shared/utf8.ts'

export const blockBytes = 512

export interface Header {
  /** As the archive says it; a long one comes from an entry before. */
  readonly name: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Bytes of content that follow. */
  readonly size: number
  /** Seconds since the epoch. */
  readonly mtime: number
  /** One character: `0` file, `1` hard link, `2` symbolic link, `5` directory, … */
  readonly type: string
  readonly linkname: string
}

/** Text up to the first NUL. */
const field = (block: Buffer, at: number, length: number): Buffer => {
  const bytes = block.subarray(at, at + length)
  const end = bytes.indexOf(0)
  return end < 0 ? bytes : bytes.subarray(0, end)
}

/** Two's complement of all bits but the first, which says that the number is no octal text. */
const binary = (bytes: Buffer): bigint => {
  let value = BigInt(bytes[0] as number) & 0x7fn
  for (const byte of bytes.subarray(1)) value = (value << 8n) | BigInt(byte)
  return BigInt.asIntN(bytes.length * 8 - 1, value)
}

/** A number, in octal digits or binary. Throws when it is neither or not a safe integer. */
export const numberAt = (block: Buffer, at: number, length: number): number => {
  const bytes = block.subarray(at, at + length)
  if ((bytes[0] as number) & 0x80) {
    const value = Number(binary(bytes))
    if (!Number.isSafeInteger(value)) throw new Error('a number in a header is out of range')
    return value
  }
  const digits = field(block, at, length).toString('latin1').trim()
  if (!/^[0-7]*$/.test(digits)) throw new Error('a number in a header is not one')
  return digits === '' ? 0 : Number.parseInt(digits, 8)
}

const sumAt = 148

/** The sum of all bytes, those of the sum itself as blanks. */
const checksum = (block: Buffer): number => {
  let sum = 8 * 0x20
  for (let at = 0; at < blockBytes; at++) if (at < sumAt || at >= sumAt + 8) sum += block[at] as number
  return sum
}

/** Throws when the block is no header. */
export const decodeHeader = (block: Buffer): Header => {
  let sum: number
  try {
    sum = numberAt(block, sumAt, 8)
  } catch {
    // What is no number is no sum either.
    sum = -1
  }
  if (sum !== checksum(block)) throw new Error('a header has the wrong checksum')
  const type = block[156] === 0 ? '0' : String.fromCharCode(block[156] as number)
  const name = field(block, 0, 100)
  // GNU archives and those from before POSIX have other things where ustar has the prefix.
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? field(block, 345, 155) : Buffer.alloc(0)
  return {
    name: textOf(prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name),
    mode: numberAt(block, 100, 8),
    uid: numberAt(block, 108, 8),
    gid: numberAt(block, 116, 8),
    size: numberAt(block, 124, 12),
    mtime: numberAt(block, 136, 12),
    type,
    linkname: textOf(field(block, 157, 100)),
  }
}

const putNumber = (block: Buffer, at: number, length: number, value: number): void => {
  const digits = value.toString(8)
  if (value >= 0 && digits.length < length) {
    block.write(digits.padStart(length - 1, '0'), at, 'latin1')
    return
  }
  let rest = BigInt.asUintN(length * 8, BigInt(value))
  for (let index = length - 1; index >= 0; index--) {
    block[at + index] = Number(rest & 0xffn)
    rest >>= 8n
  }
  block[at] = (block[at] as number) | 0x80
}

/** Where a long name may be cut into prefix and name, or undefined. */
const cutOf = (name: Buffer): number | undefined => {
  for (let at = name.length - 101; at <= 155 && at < name.length - 1; at++) if (at > 0 && name[at] === 0x2f) return at
  return undefined
}

const pax = (key: string, value: Buffer): Buffer => {
  const tail = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')])
  let length = tail.length + 1
  while (String(length).length + tail.length !== length) length = String(length).length + tail.length
  return Buffer.concat([Buffer.from(String(length)), tail])
}

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((blockBytes - (bytes.length % blockBytes)) % blockBytes)])

const encodeBlock = (header: Header, name: Buffer, linkname: Buffer, users?: Users): Buffer => {
  const block = Buffer.alloc(blockBytes)
  const cut = name.length > 100 ? cutOf(name) : undefined
  ;(cut === undefined ? name.subarray(0, 100) : name.subarray(cut + 1)).copy(block, 0)
  if (cut !== undefined) name.copy(block, 345, 0, cut)
  putNumber(block, 100, 8, header.mode & 0o7777)
  putNumber(block, 108, 8, header.uid)
  putNumber(block, 116, 8, header.gid)
  putNumber(block, 124, 12, header.size)
  putNumber(block, 136, 12, header.mtime)
  block.write(header.type, 156, 'latin1')
  linkname.copy(block, 157, 0, 100)
  block.write('ustar\x0000', 257, 'latin1')
  Buffer.from(users?.user ?? '').copy(block, 265, 0, 31)
  Buffer.from(users?.group ?? '').copy(block, 297, 0, 31)
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, sumAt, 'latin1')
  return block
}

/** Names beside the ids. */
export interface Users {
  readonly user: string
  readonly group: string
}

/** The blocks that begin an entry; what is too long for one goes into a pax header (POSIX.1-2001) before it. */
export const encodeHeader = (header: Header, users: Users): Buffer => {
  const name = bytesOf(header.name)
  const linkname = bytesOf(header.linkname)
  const block = encodeBlock(header, name, linkname, users)
  const records: Buffer[] = []
  if (name.length > 100 && cutOf(name) === undefined) records.push(pax('path', name))
  if (linkname.length > 100) records.push(pax('linkpath', linkname))
  if (records.length === 0) return block
  const body = Buffer.concat(records)
  const before = encodeBlock(
    { ...header, type: 'x', size: body.length, linkname: '' },
    Buffer.from('PaxHeader'),
    Buffer.alloc(0),
  )
  return Buffer.concat([before, padded(body), block])
}
