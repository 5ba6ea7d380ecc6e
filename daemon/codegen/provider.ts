/** A service that merges edits and ranks files. */

export interface SourceFile {
  readonly path: string
  readonly content: string
}

export interface Provider {
  readonly name: 'relace' | 'morphllm'
  /** The whole file after the edit. Throws `unprocessable`. */
  apply(asked: { code: string; edit: string; model?: string | undefined }, signal: AbortSignal): Promise<string>
  /** Score in [0, 1] by path; files left out are not relevant. Throws `unprocessable`. */
  rank(
    asked: { query: string; files: readonly SourceFile[]; tokenLimit: number },
    signal: AbortSignal,
  ): Promise<Map<string, number>>
}
