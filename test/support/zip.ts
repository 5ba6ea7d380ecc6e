/** Zip archives as tests want them, and as no packer makes them: every field of an entry can be a lie. */
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  readonly name: string
  readonly content?: string | Buffer
  /** Type and permission bits of a Unix. */
  readonly mode?: number
  /** What the archive says that it unpacks to; the truth unless given. */
  readonly says?: number
}

const regular = 0o100644
const made = (20 << 0) | (3 << 8)

/** An archive of those entries, in their order. */
export const zip = (entries: readonly ZipEntry[]): Buffer => {
  const parts: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const { name, content = '', mode = regular, says } of entries) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const named = Buffer.from(name)
    const size = says ?? bytes.length
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(20, 4)
    local.writeUInt16LE(0x800, 6)
    local.writeUInt16LE(8, 8)
    local.writeUInt32LE(crc32(bytes), 14)
    local.writeUInt32LE(packed.length, 18)
    local.writeUInt32LE(size, 22)
    local.writeUInt16LE(named.length, 26)
    const head = Buffer.alloc(46)
    head.writeUInt32LE(0x02014b50, 0)
    head.writeUInt16LE(made, 4)
    local.copy(head, 6, 4, 30)
    head.writeUInt32LE((mode << 16) >>> 0, 38)
    head.writeUInt32LE(offset, 42)
    parts.push(local, named, packed)
    central.push(head, named)
    offset += 30 + named.length + packed.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, directory, end])
}

/** An archive of files by their names. */
export const zipOf = (files: Readonly<Record<string, string>>): Buffer =>
  zip(Object.entries(files).map(([name, content]) => ({ name, content })))
