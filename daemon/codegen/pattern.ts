/** Regular expressions that somebody else wrote: some of them would take longer than the sandbox lives. */
import { createContext, Script } from 'node:vm'
import { fail, messageOf } from '../../shared/errors.ts'

const fiveSeconds = 5_000

/** A match within a line: line number from 1, the line, and where in it, in UTF-16 units. */
export interface LineMatch {
  readonly line: number
  readonly text: string
  readonly spans: readonly (readonly [start: number, end: number])[]
}

export interface Pattern {
  test(text: string): boolean
  lines(text: string): LineMatch[]
}

const tester = new Script('pattern.lastIndex = 0, pattern.test(text)')
const lister = new Script(`
  found = []
  text.split('\\n').forEach((line, index) => {
    const spans = Array.from(line.matchAll(pattern), match => [match.index, match.index + match[0].length])
    if (spans.length) found.push({ line: index + 1, text: line, spans })
  })
  found
`)

/** The error belongs to the other context, so it is no instance of our Error. */
const isTimeout = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

/** All uses together may take `budgetMs`, five seconds if not said. Throws `unprocessable` then, and for what is no expression. */
export const compilePattern = (source: string, options: { ignoreCase?: boolean; budgetMs?: number } = {}): Pattern => {
  const { ignoreCase = false, budgetMs = fiveSeconds } = options
  let left = budgetMs
  const pattern = (() => {
    try {
      return new RegExp(source, ignoreCase ? 'gi' : 'g')
    } catch (error) {
      throw fail('unprocessable', { reason: `invalid pattern: ${messageOf(error)}` }, error)
    }
  })()
  const sandbox = createContext({ pattern, text: '' })
  const run = (script: Script, text: string): unknown => {
    sandbox['text'] = text
    const start = performance.now()
    try {
      if (left <= 0) throw fail('unprocessable', { reason: `the pattern takes more than ${budgetMs} ms` })
      return script.runInContext(sandbox, { timeout: Math.max(1, Math.ceil(left)) })
    } catch (error) {
      if (!isTimeout(error)) throw error
      // V8's clock and ours differ by a little: what was ended stays ended.
      left = 0
      throw fail('unprocessable', { reason: `the pattern takes more than ${budgetMs} ms` }, error)
    } finally {
      left -= performance.now() - start
    }
  }
  return {
    test: text => run(tester, text) as boolean,
    lines: text => run(lister, text) as LineMatch[],
  }
}
