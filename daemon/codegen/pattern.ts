/** Runs regular expressions that clients send; some would never end, so the time is limited. */
import { createContext, Script } from 'node:vm'
import { fail, messageOf } from '../../shared/errors.ts'

const fiveSeconds = 5_000

/** A match within a line: line number from 1, where it begins, the line, and where in it, in UTF-16 units. */
export interface LineMatch {
  readonly line: number
  readonly start: number
  readonly text: string
  /** No line feed ends it. */
  readonly isLast: boolean
  readonly spans: readonly (readonly [start: number, end: number])[]
}

/** Both take many texts at once: a call with a time limit costs as much as matching a page of text. */
interface Pattern {
  /** For each text, whether it matches. */
  test(texts: readonly string[]): boolean[]
  /** For each text, its lines that match, up to a bound of lines and places. */
  lines(texts: readonly string[]): LineMatch[][]
}

const tester = new Script('texts.map(text => (pattern.lastIndex = 0, pattern.test(text)))')
const lister = new Script(`
  (() => {
    let left = most
    const look = (found, text, line, start, end) => {
      if (end - start > longest) return
      const content = text.slice(start, end)
      pattern.lastIndex = 0
      if (!pattern.test(content)) return
      pattern.lastIndex = 0
      const spans = []
      for (const match of content.matchAll(pattern)) {
        spans.push([match.index, match.index + match[0].length])
        if (--left <= 0) break
      }
      found.push({ line, start, text: content, isLast: end === text.length, spans })
    }
    return texts.map(text => {
      const found = []
      for (let start = 0, line = 1; start <= text.length && left > 0; line++) {
        const feed = text.indexOf('\\n', start)
        const end = feed < 0 ? text.length : feed
        look(found, text, line, start, end)
        start = end + 1
      }
      return found
    })
  })()
`)

/** A call gives no more places than this, and none in longer lines: what a minified file would give fits nowhere. */
const bounds = { most: 100_000, longest: 1024 * 1024 }

/** The error comes from another V8 context, so it is no instance of our Error. */
const isTimeout = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

/**
 * All calls together may take `budgetMs`, by default five seconds. Throws `unprocessable` when they take longer, and
 * for an invalid expression.
 */
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
  const sandbox = createContext({ pattern, texts: [], ...bounds })
  const run = (script: Script, texts: readonly string[]): unknown => {
    sandbox['texts'] = texts
    const start = performance.now()
    try {
      if (left <= 0) throw fail('unprocessable', { reason: `the pattern takes more than ${budgetMs} ms` })
      return script.runInContext(sandbox, { timeout: Math.max(1, Math.ceil(left)) })
    } catch (error) {
      if (!isTimeout(error)) throw error
      // V8's clock and ours differ a little: once ended, every later call fails too.
      left = 0
      throw fail('unprocessable', { reason: `the pattern takes more than ${budgetMs} ms` }, error)
    } finally {
      left -= performance.now() - start
    }
  }
  return {
    test: texts => run(tester, texts) as boolean[],
    lines: texts => run(lister, texts) as LineMatch[][],
  }
}
