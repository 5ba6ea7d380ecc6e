/** A defence of the sources, how it is broken, and the test that has to notice. */
export interface Defence {
  /** What is broken, in a few words. */
  readonly name: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly text: string
  readonly instead: string
  /** The test file that fails then. */
  readonly test: string
}
