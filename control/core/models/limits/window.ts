/** Tokens of one model in a window of time that ends now, in slices: what is older than the window falls out slice by slice. */
import type { TokenSums } from '../../store/store.ts'
import type { TokenPolicy } from './policy.ts'

const slices = 60

export interface Tokens {
  readonly input: number
  readonly output: number
}

interface Slice {
  readonly at: number
  input: number
  output: number
}

export const sliceOf = ({ windowMs }: Pick<TokenPolicy, 'windowMs'>): number => Math.max(1_000, windowMs / slices)

/** Whether so much reaches one of the thresholds of a policy. */
export const reaches = ({ input, output }: Tokens, policy: TokenPolicy): boolean =>
  (policy.input > 0 && input >= policy.input) ||
  (policy.output > 0 && output >= policy.output) ||
  (policy.total > 0 && input + output >= policy.total) ||
  (policy.ratio > 0 && output > 0 && input / output > policy.ratio)

export class Window {
  readonly #policy: TokenPolicy
  readonly #width: number
  #slices: Slice[]

  constructor(policy: TokenPolicy, before: readonly TokenSums[]) {
    this.#policy = policy
    this.#width = sliceOf(policy)
    this.#slices = before.map(({ at, input, output }) => ({ at, input, output })).toSorted((a, b) => a.at - b.at)
  }

  add({ input, output }: Tokens, now: number): void {
    const at = Math.floor(now / this.#width) * this.#width
    const last = this.#slices.at(-1)
    if (last && last.at >= at) {
      last.input += input
      last.output += output
    } else this.#slices.push({ at, input, output })
  }

  sums(now: number): Tokens {
    const from = now - this.#policy.windowMs
    while (this.#slices[0] && this.#slices[0].at + this.#width <= from) this.#slices.shift()
    let [input, output] = [0, 0]
    for (const slice of this.#slices) {
      input += slice.input
      output += slice.output
    }
    return { input, output }
  }

  /** Until enough has fallen out of the window, s; at least 1. */
  retryAfterS(now: number): number {
    let { input, output } = this.sums(now)
    for (const slice of this.#slices) {
      if (!reaches({ input, output }, this.#policy)) break
      input -= slice.input
      output -= slice.output
      if (!reaches({ input, output }, this.#policy))
        return Math.max(1, Math.ceil((slice.at + this.#width + this.#policy.windowMs - now) / 1000))
    }
    return 1
  }
}
