/**
 * A page of docs/ as something that can be run. Rules:
 *
 * - Every ```sh block is run, in the order of the page, in one shell; one that must not be is in a block of another kind (```console).
 * - A block without language or of `json` right behind a ```sh block is what that prints.
 * - `<!-- setup: … -->` is run and not shown: what the examples take for granted.
 * - Line breaks and the indentation after them mean nothing in an output, `…` stands for anything, and what differs from run
 *   to run is compared by its kind: see `settle`.
 */
export interface Step {
  /** What is run. */
  readonly script: string
  /** Lines of the documented output, first and behind the last, counted from 0; undefined when none is documented. */
  readonly output: readonly [first: number, behind: number] | undefined
  readonly line: number
}

interface Fence {
  readonly kind: string
  readonly open: number
  readonly close: number
}

const fencesOf = (lines: readonly string[]): Fence[] => {
  const fences: Fence[] = []
  for (let at = 0; at < lines.length; at++) {
    const open = /^```(\w*)$/.exec(lines[at] as string)
    if (!open) continue
    const close = lines.indexOf('```', at + 1)
    if (close < 0) throw new Error(`the block of line ${at + 1} has no end`)
    fences.push({ kind: open[1] as string, open: at, close })
    at = close
  }
  return fences
}

const setupsOf = (text: string): Step[] =>
  [...text.matchAll(/^<!-- setup:\n([^]*?)\n-->$/gm)].map(match => ({
    script: match[1] as string,
    output: undefined,
    line: text.slice(0, match.index).split('\n').length - 1,
  }))

/** What a page runs, in its order. */
export const stepsOf = (text: string): Step[] => {
  const lines = text.split('\n')
  const fences = fencesOf(lines)
  const steps: Step[] = []
  for (const [index, { kind, open, close }] of fences.entries()) {
    if (kind !== 'sh') continue
    const next = fences[index + 1]
    const follows = next && /^(json)?$/.test(next.kind) && lines.slice(close + 1, next.open).every(line => line === '')
    steps.push({
      script: lines.slice(open + 1, close).join('\n'),
      output: follows ? [next.open + 1, next.close] : undefined,
      line: open,
    })
  }
  return [...steps, ...setupsOf(text)].toSorted((a, b) => a.line - b.line)
}

/** Everything that differs between two runs of the same example. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, '<uuid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, '<time>'],
  [/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g, '<time>'],
  [/(\\*"(?:pid|processPid)\\*":\\*"?)\d+/g, '$1<pid>'],
  [/proc-[a-z\d]{8}/g, '<name>'],
  [/(\\*"(?:gitCommit|etag|binaryPath)\\*":\\*")[^"\\]*/g, '$1<digest>'],
  [/("uptime":")[^"]*/g, '$1<duration>'],
  [/("uptimeSeconds":)[\d.]+/g, '$1<seconds>'],
  [/v\d+\.\d+\.\d+/g, '<version>'],
  [/(http:\/\/(?:127\.0\.0\.1|[\w.-]+\.localhost):)\d+/g, '$1<port>'],
]

const settle = (text: string): string => {
  const flat = text.replace(/\r/g, '').replace(/\n\s*/g, '')
  return volatile.reduce((settled, [pattern, kind]) => settled.replace(pattern, kind), flat).trim()
}

/** Whether `actual` is what `documented` says. */
export const matches = (documented: string, actual: string): boolean => {
  const parts = settle(documented)
    .replace(/\s*…(,?)\s*/g, '…$1')
    .split('…')
    .map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*?')}$`).test(settle(actual))
}

/** An example that prints an error without the page saying so does not work. */
export const failed = (output: string): boolean => /"error":|^404 page not found/m.test(output)

const width = 130

/** Long lines of JSON are broken between fields; the rest of such a line is indented. */
const fold = (line: string): string[] => {
  const folded: string[] = []
  let rest = line
  while (rest.length > width) {
    const cut = rest.lastIndexOf(',"', width)
    if (cut < 20) break
    folded.push(rest.slice(0, cut + 1))
    rest = ` ${rest.slice(cut + 1)}`
  }
  return [...folded, rest]
}

/** An output as it is written into a page. */
export const shown = (output: string): string[] =>
  output.replace(/\r/g, '').replace(/\}\{/g, '}\n{').trimEnd().split('\n').flatMap(fold)
