/** Headers of tar archives (ustar, POSIX.1-1988, with GNU's binary numbers) that no honest program would write. */
import { bytesOf } from '../../shared/utf8.ts'

const blockBytes = 512

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

const sumAt = 148

/** The sum of all bytes, those of the sum itself as blanks. */
const checksum = (block: Buffer): number => {
  let sum = 8 * 0x20
  for (let at = 0; at < blockBytes; at++) if (at < sumAt || at >= sumAt + 8) sum += block[at] as number
  return sum
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

/** The 512 bytes before an entry, whatever they say; a name that does not fit is cut. */
export const encodeHeader = (header: Header): Buffer => {
  const name = bytesOf(header.name)
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
  bytesOf(header.linkname).copy(block, 157, 0, 100)
  block.write('ustar\x0000', 257, 'latin1')
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, sumAt, 'latin1')
  return block
}
