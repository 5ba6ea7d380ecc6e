/** Questions to name servers and their answers (RFC 1035): IPv4 addresses only, since sandboxes have no IPv6. */

const typeA = 1
const classInternet = 1
const headBytes = 12

/** The labels of a name, or undefined when it cannot be asked for. */
const labelsOf = (name: string): string[] | undefined => {
  const labels = name.replace(/\.$/, '').split('.')
  const fits = name.length <= 253 && labels.every(label => /^[\x21-\x7e]{1,63}$/.test(label))
  return fits ? labels : undefined
}

/** A question for the addresses of `name`, or undefined when it is no name. */
export const writeQuestion = (id: number, name: string): Buffer | undefined => {
  const labels = labelsOf(name)
  if (!labels) return undefined
  const head = Buffer.alloc(headBytes)
  head.writeUInt16BE(id, 0)
  head.writeUInt16BE(0x0100, 2)
  head.writeUInt16BE(1, 4)
  const text = labels.map(label => String.fromCharCode(label.length) + label).join('')
  return Buffer.concat([head, Buffer.from(`${text}\0`, 'latin1'), Buffer.from([0, typeA, 0, classInternet])])
}

/** Where the name at `at` ends; names are labels, and may end with a pointer to an earlier one. */
const skipName = (bytes: Buffer, at: number): number => {
  for (;;) {
    const length = bytes.readUInt8(at)
    if (length >= 0xc0) return at + 2
    if (length === 0) return at + 1
    at += 1 + length
  }
}

const addressesIn = (bytes: Buffer, from: number): string[] => {
  const found: string[] = []
  let at = from
  for (let left = bytes.readUInt16BE(6); left > 0; left--) {
    at = skipName(bytes, at)
    const [type, kind, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2), bytes.readUInt16BE(at + 8)]
    at += 10
    if (at + length > bytes.length) throw new RangeError('the message is cut short')
    if (type === typeA && kind === classInternet && length === 4) found.push(bytes.subarray(at, at + 4).join('.'))
    at += length
  }
  return found
}

/** `again`: another server may know. `addresses` is empty for a name that does not exist. */
export type Answer = { readonly addresses: readonly string[] } | 'again'

/** What the bytes answer to `question`; undefined when they are no answer to it. */
export const readAnswer = (question: Buffer, bytes: Buffer): Answer | undefined => {
  const asked = question.subarray(headBytes)
  const repeated = bytes.subarray(headBytes, headBytes + asked.length)
  const same = bytes.length > headBytes && bytes.readUInt16BE(0) === question.readUInt16BE(0) && bytes.readUInt8(2) >> 7
  if (!same || repeated.toString('latin1').toLowerCase() !== asked.toString('latin1').toLowerCase()) return undefined
  const code = bytes.readUInt8(3) & 15
  if (code === 3) return { addresses: [] }
  if (code !== 0) return 'again'
  try {
    return { addresses: addressesIn(bytes, headBytes + asked.length) }
  } catch {
    // Cut short, or no message at all.
    return 'again'
  }
}
