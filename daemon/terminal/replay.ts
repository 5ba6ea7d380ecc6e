/** The last output of a terminal, shown to clients that attach again. */
export interface Replay {
  add(text: string): void
  /** The text to show, starting with a reset of colours; '' when there was no output. */
  text(): string
  /** Counts all output so far, in characters. */
  readonly end: number
  /** The output after that count; `lost` characters of it are no longer kept. */
  since(position: number): { lost: number; text: string }
  /** The output that is kept, and whether older output was cut off; for `createReplay` in the next daemon. */
  state(): Kept
}

export interface Kept {
  readonly kept: string
  readonly cut: boolean
}

const reset = '\x1b[0m'
const lineWithin = 256

/**
 * Keeps the last `limit` characters, beginning with those that the daemon before this one handed over. It cuts after a
 * newline when there is one within 256 characters.
 */
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
        // A surrogate pair must not be cut in half.
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
