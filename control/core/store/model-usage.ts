/** What calls of models have used: a row for each, and sums of them. */

export interface ModelCall {
  /** Of the call: it is written down once, however often it is told. */
  readonly id: string
  /** When it came in, epoch ms. */
  readonly time: number
  readonly account: string
  readonly workspace: string
  /** Uid and name of the model that was called, and the name of the one that served it: another one where that failed. */
  readonly model: string
  readonly modelName: string
  readonly served: string
  /** Id and name of the credential that called. */
  readonly key: string
  readonly keyName: string
  readonly provider: string
  /** What the provider calls the model. */
  readonly providerModel: string
  /** HTTP status that the caller got; 0 for none. */
  readonly status: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  /** The provider has not told all of the counts. */
  readonly estimated: boolean
  /** How it failed: `upstream`, `cut`, `gone`, `refused`; '' for a call that went well. */
  readonly failure: string
  /** Until the first byte of the answer's body, ms; null for none. */
  readonly ttftMs: number | null
  readonly durationMs: number
  /** Billionths of a dollar; null where no price is known. */
  readonly costNanos: number | null
}

export interface ModelUsageQuery {
  readonly workspace: string
  /** Uid of one model; of all of the workspace unless given. */
  readonly model?: string | undefined
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** Start of each bucket, ascending; each ends where the next starts, the last at `to`. */
  readonly buckets: readonly number[]
  readonly groupBy?: 'key' | 'served' | undefined
}

export interface ModelUsageSums {
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Of both, those of calls that were estimated. */
  readonly estimatedTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  readonly errors: number
  readonly costNanos: number
  /** Calls of which no price is known. */
  readonly unpriced: number
}

export interface ModelUsageRow extends ModelUsageSums {
  /** Name of the key or of the model that served; '' where nothing is grouped. */
  readonly name: string
  /** Id of the key, or name of the model. */
  readonly id: string
  /** Index into `buckets`. */
  readonly bucket: number
}

export interface TokenSums {
  /** Start of a slice of time. */
  readonly at: number
  readonly input: number
  readonly output: number
}

export interface ModelUsage {
  /** Those whose id is there already are left out. */
  add(calls: readonly ModelCall[]): Promise<void>
  usage(query: ModelUsageQuery): Promise<ModelUsageRow[]>
  /** The times to the first byte at these shares of 1, ascending, of calls that had one; empty when none had. */
  firstBytes(query: Omit<ModelUsageQuery, 'buckets' | 'groupBy'>, shares: readonly number[]): Promise<number[]>
  /** Tokens of a model since `from`, in slices of `width` ms that begin at multiples of it; those without are left out. */
  tokens(model: string, from: number, width: number): Promise<TokenSums[]>
  /** What a key has spent since `from`, billionths of a dollar. */
  spent(key: string, from: number): Promise<number>
  /** Removes what is older, at most so many rows at once; answers how many they were. */
  prune(before: number, most: number): Promise<number>
}
