/** Programs that bring an image in, a step each. */
import { execa } from 'execa'
import { fail, messageOf } from '../../../shared/errors.ts'

/** Runs one program to its end and answers what it printed. Throws `image_failed` naming the step, or the signal's reason. */
export type RunStep = (step: string, command: string, args: readonly string[], signal?: AbortSignal) => Promise<string>

/** The line that says what went wrong: tools print it last, umoci with a cross before it. */
const lastLine = (error: unknown): string | undefined =>
  String((error as { stderr?: unknown }).stderr ?? '')
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^\W+/, '')

export const stepsOf =
  (image: string, onStep?: (step: string) => void): RunStep =>
  async (step, command, args, signal) => {
    const options = { ...(signal && { cancelSignal: signal }), stdin: 'ignore', maxBuffer: 8 * 1024 * 1024 } as const
    onStep?.(step)
    try {
      return (await execa(command, args, options)).stdout
    } catch (error) {
      signal?.throwIfAborted()
      throw fail('image_failed', { image, step, reason: lastLine(error) || messageOf(error) }, error)
    }
  }
