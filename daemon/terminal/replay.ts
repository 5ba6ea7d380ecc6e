/** The last output of a terminal, to show to whoever attaches again. */
export interface Replay {
  add(text: string): void
  /** What to show, starting with a reset of colours; '' when there was no output. */
  text(): string
  /** Counts all output there ever was, in characters. */
  readonly end: number
  /** What came after that count; `lost` characters of it are not kept any more. */
  since(position: number): { lost: number; text: string }
  /** What is kept, and whether older output was cut off; for `createReplay` in the next daemon. */
  state(): Kept
}

export interface Kept {
  readonly kept: string
  readonly cut: boolean
}

const reset = '\x1b[0m'
const lineWithin = 256

/** Keeps the last `limit` characters, going on with those of an earlier daemon. A cut is moved to a newline when there is one within 256 characters after it. */
export const createReplay = (limit = 100 * 1024, before: Kept = { kept: '', cut: false }): Replay => {
  let { kept, cut } = before
  let end = kept.length
  return {
    get end() {
      return end
    },
    add(text) {
      kept += text
      end += text.length
      // Cutting at twice the limit keeps the copying amortised.
      if (kept.length > limit * 2) {
        kept = kept.slice(-limit)
        cut = true
      }
    },
    text() {
      if (kept === '') return ''
      let shown = kept
      if (shown.length > limit || cut) {
        shown = shown.slice(-limit)
        const newline = shown.slice(0, lineWithin).indexOf('\n')
        if (newline >= 0) shown = shown.slice(newline + 1)
        // A surrogate pair must not be halved.
        else if (/^[\udc00-\udfff]/.test(shown)) shown = shown.slice(1)
      }
      return reset + shown
    },
    since(position) {
      const missing = end - position
      return { lost: Math.max(0, missing - kept.length), text: missing > 0 ? kept.slice(-missing) : '' }
    },
    state: () => ({ kept: kept.slice(-limit), cut: cut || kept.length > limit }),
  }
}
