/** The last output of a terminal, to show to whoever attaches again. */
export interface Replay {
  add(text: string): void
  /** What to show, starting with a reset of colours; '' when there was no output. */
  text(): string
}

const reset = '\x1b[0m'
const lineWithin = 256

/** Keeps the last `limit` characters. A cut is moved to a newline when there is one within 256 characters after it. */
export const replay = (limit = 100 * 1024): Replay => {
  let kept = ''
  let cut = false
  return {
    add(text) {
      kept += text
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
  }
}
