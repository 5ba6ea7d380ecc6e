/** Extended headers of tar archives (pax, POSIX.1-2001), read as strictly as the unpacker does (Go's archive/tar). */
export type Records = Readonly<Record<string, string>>

const texts = new Set(['path', 'linkpath', 'uname', 'gname'])

/** `<length> <key>=<value>\n`, the length being that of all of it. The last of a key counts. Throws when it is none. */
export const readRecords = (bytes: Buffer): Records => {
  const records: [string, string][] = []
  for (let rest = bytes; rest.length > 0; ) {
    const blank = rest.indexOf(0x20)
    // A longer number would be cut off, and another one than the unpacker reads.
    const digits = blank > 0 && blank <= 15 ? rest.toString('latin1', 0, blank) : ''
    const length = Number(digits)
    if (!/^[0-9]+$/.test(digits) || length < blank + 3 || length > rest.length || rest[length - 1] !== 0x0a)
      throw new Error('an extended header has a record that is none')
    const record = rest.subarray(blank + 1, length - 1)
    const equals = record.indexOf(0x3d)
    const key = record.toString('utf8', 0, Math.max(equals, 0))
    const value = record.toString('utf8', equals + 1)
    if (key === '' || (texts.has(key) ? value : key).includes('\0'))
      throw new Error('an extended header has a record that is none')
    records.push([key, value])
    rest = rest.subarray(length)
  }
  return Object.fromEntries(records)
}
