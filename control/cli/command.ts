/** What a command of `hutch` is made of. */
import { fail, type AppError } from '../../shared/errors.ts'

export interface Options {
  readonly [name: string]: { readonly type: 'string' | 'boolean'; readonly value?: string; readonly help: string }
}

export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Options that were given; switches are `true`. */
  readonly options: Readonly<Record<string, string | true | undefined>>
  readonly words: readonly string[]
  /** Writes a line to the standard output. */
  readonly say: (line: string) => void
}

export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** What may follow the name: `list | base`. */
  readonly words?: string
  readonly options?: Options
  /** More lines of help. */
  readonly help?: readonly string[]
  /** Resolves with the exit code; a server resolves when it was stopped. */
  run(invocation: Invocation): Promise<number>
}

/** A mistake on the command line. */
export const misuse = (reason: string): AppError => fail('invalid_argument', { field: '', reason })
