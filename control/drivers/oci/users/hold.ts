/** Pairs of a user namespace and a network namespace that belongs to it, for as long as it takes to name the second. */
import { run, tool } from '../command.ts'
import { program } from '../native/programs.ts'

export interface NamingInput {
  readonly step: string
  /** The first id of each user namespace. */
  readonly ranges: readonly number[]
  /** For `ip -batch`; `memberAt` is a process in a pair. */
  readonly commands: string
  readonly signal?: AbortSignal | undefined
}

/** Stands in commands for the id of a process that is in the pair of that place among the ranges. */
export const memberAt = (place: number): string => `@${place}`

/**
 * Has `ip` carry out commands beside a pair of namespaces for each range, which end with it but for what it has named: one
 * chain of `exec`, as nobody has to hear of the process ids. Throws `driver_failed` where the kernel makes none.
 */
export const nameNamespaces = async ({ step, ranges, commands, signal }: NamingInput): Promise<void> => {
  const args = [...ranges.map(String), '--', tool('ip'), '-batch', '-']
  await run({ step, file: program('hold-namespaces'), args, input: commands, signal })
}
