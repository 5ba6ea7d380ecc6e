/** What is used of Node's connections without a public interface. */
import type { Socket } from 'node:net'

/** What it is reading now, and the slots of its callbacks. */
export interface Parser {
  [callback: number]: unknown
  readonly incoming?: unknown
  readonly constructor: { kOnBody?: number }
  getCurrentBuffer?(): Buffer | undefined
}

export interface Connection extends Socket {
  readonly _handle?: { readonly fd?: number } | null
  readonly _paused?: boolean
  readonly parser?: Parser
}
