/** Environment variables as a process can take them: one rule for sandboxes, for processes and for what is reloaded. */
import { s } from './schema.ts'

/** The kernel takes no longer string, `NAME=value` and the byte that ends it together (MAX_ARG_STRLEN). */
export const variableBytes = 131_072
/**
 * What a sandbox, and one process besides, may say. Arguments and variables of a process share 2 MiB (a quarter of its stack), so
 * that these fit together with a command of 128 KiB and what the image brings.
 */
export const environmentBytes = { sandbox: 1024 * 1024, process: 512 * 1024 } as const
/** A pointer for each, which counts as well. */
const pointerBytes = 8

const sizeOf = (name: string, value: string): number => Buffer.byteLength(name) + Buffer.byteLength(value) + 2

/** Why no process can have the variable, or undefined. */
export const tooLong = (name: string, value: string): string | undefined =>
  sizeOf(name, value) > variableBytes
    ? `a variable may take ${variableBytes} bytes with its name, and this one takes ${sizeOf(name, value)}`
    : undefined

/** Why no process can have all of them, or undefined. Of several with one name the last counts. */
export const tooMany = (all: Iterable<readonly [string, string]>, most: number): string | undefined => {
  let bytes = 0
  for (const [name, value] of new Map(all)) bytes += sizeOf(name, value) + pointerBytes
  return bytes > most ? `all variables together may take ${most} bytes, and these take ${bytes}` : undefined
}

export const variableName = s
  .string()
  .check(
    s.refine(
      name => name !== '' && !name.includes('=') && !name.includes('\0') && name.isWellFormed(),
      'a variable name must not be empty or hold = or NUL',
    ),
  )

const variableValue = s.string().check(s.refine(value => !value.includes('\0'), 'must not contain NUL'))

/** A map of variables that takes at most so many bytes. */
export const variablesWithin = (most: number) =>
  s.record(variableName, variableValue).check(
    s.check(({ value: variables, issues }) => {
      for (const [name, value] of Object.entries(variables)) {
        const message = tooLong(name, value)
        if (message !== undefined) issues.push({ code: 'custom', message, input: value, path: [name] })
      }
      const message = issues.length === 0 ? tooMany(Object.entries(variables), most) : undefined
      if (message !== undefined) issues.push({ code: 'custom', message, input: variables })
    }),
  )
