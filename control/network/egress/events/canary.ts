/** Looks for canary values in what leaves, also where they are written in hex, base64 or with percent signs. */

interface Needle {
  readonly name: string
  readonly bytes: Buffer
}

/** Shorter values would be found everywhere. */
const minLength = 8

/** Base64 of the value wherever it begins in a longer text: the characters that depend on nothing before or after it. */
const base64Forms = (value: Buffer): string[] =>
  [0, 1, 2].map(shift => {
    const padded = Buffer.concat([Buffer.alloc(shift), value])
      .toString('base64')
      .replaceAll('=', '')
    const whole = Math.floor(((shift + value.length) * 8) / 6)
    return padded.slice(Math.ceil((shift * 8) / 6), whole)
  })

const formsOf = (value: string): Set<string> => {
  const bytes = Buffer.from(value)
  const base64 = base64Forms(bytes)
  return new Set([
    bytes.toString('latin1'),
    // As names of hosts are written.
    bytes.toString('latin1').toLowerCase(),
    encodeURIComponent(value),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64,
    ...base64.map(form => form.replaceAll('+', '-').replaceAll('/', '_')),
  ])
}

export interface Canaries {
  readonly names: readonly string[]
  /** A search through one message; tells each canary once. */
  search(found: (name: string) => void): CanarySearch
  /** The text without their values, in whatever form. */
  mask(text: string): string
}

export interface CanarySearch {
  text(text: string): void
  /** The next piece of the body; what lies across two pieces is found too. */
  piece(bytes: Uint8Array): void
}

const none: CanarySearch = { text() {}, piece() {} }

/** Values of fewer than eight characters are not looked for. */
export const compileCanaries = (values: Readonly<Record<string, string>>): Canaries => {
  const needles: Needle[] = Object.entries(values)
    .filter(([, value]) => value.length >= minLength)
    .flatMap(([name, value]) => [...formsOf(value)].map(form => ({ name, bytes: Buffer.from(form, 'latin1') })))
  const forms = needles.map(({ bytes }) => bytes.toString('utf8'))
  const longest = Math.max(0, ...needles.map(({ bytes }) => bytes.length))
  return {
    names: [...new Set(needles.map(({ name }) => name))],
    mask: text => forms.reduce((masked, form) => masked.replaceAll(form, '***'), text),
    search(found) {
      if (needles.length === 0) return none
      const told = new Set<string>()
      let tail: Buffer = Buffer.alloc(0)
      const look = (bytes: Buffer) => {
        for (const needle of needles)
          if (!told.has(needle.name) && bytes.includes(needle.bytes)) {
            told.add(needle.name)
            found(needle.name)
          }
      }
      return {
        text: text => look(Buffer.from(text, 'latin1')),
        piece(bytes) {
          const whole = Buffer.concat([tail, bytes])
          look(whole)
          tail = Buffer.from(whole.subarray(Math.max(0, whole.length - longest + 1)))
        },
      }
    },
  }
}
