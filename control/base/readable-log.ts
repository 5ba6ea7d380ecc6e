/** Lines of the log for somebody who watches a terminal: `12:03:44 warn  disk.low: …`. */
const colours: Readonly<Record<string, string>> = { debug: '\x1b[2m', warn: '\x1b[33m', error: '\x1b[31m' }
const plain = '\x1b[0m'

/**
 * What a terminal would obey instead of showing, escaped: sandboxes have a say in what is logged. Ends of lines are
 * among it, so that nobody begins a line of the log.
 */
const harmless = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, character =>
    character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

interface LoggedError {
  readonly message?: unknown
  readonly stack?: unknown
  readonly cause?: unknown
}

const isError = (value: unknown): value is LoggedError =>
  typeof value === 'object' && value !== null && typeof (value as LoggedError).message === 'string'

/** The messages of an error and its causes, and where the first was made that says so, a line each. */
const errorLines = (error: LoggedError): string[] => {
  const messages: string[] = []
  let places: string[] = []
  for (let at: unknown = error; isError(at); at = at.cause) {
    messages.push(String(at.message))
    if (places.length === 0 && typeof at.stack === 'string')
      places = at.stack.split('\n').filter(line => /^ +at /.test(line))
  }
  return [[...new Set(messages)].join('; because: '), ...places]
}

const fieldText = ([name, value]: [string, unknown]): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `${name}=${typeof value === 'string' && /[\s"]/.test(text) ? JSON.stringify(text) : text}`
}

/** A line that `jsonLog` has made, as text; in colour when `colour`. */
export const readableLine = (line: string, { colour }: { colour: boolean }): string => {
  const { t, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>
  const time = new Date(String(t)).toTimeString().slice(0, 8)
  const entries = Object.entries(fields)
  const plainFields = entries.filter(([, value]) => !isError(value)).map(fieldText)
  // Errors come last: they may take more lines than one.
  const [first = '', ...more] = entries.flatMap(([, value]) => (isError(value) ? errorLines(value) : []))
  const head = [time, String(level).padEnd(5), String(event), ...plainFields, ...(first ? [first] : [])].join(' ')
  const text = [head, ...more].map(harmless).join('\n')
  const start = colour ? (colours[String(level)] ?? '') : ''
  return `${start}${text}${start && plain}\n`
}
