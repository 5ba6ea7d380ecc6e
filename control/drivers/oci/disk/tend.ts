/** The disk of a machine that does not run: looked after before it is used again, and made larger. */
import { stat, truncate } from 'node:fs/promises'
import { fail } from '../../../../shared/errors.ts'
import { runProcess } from '../process/run-process.ts'
import { run, tool, toolEnvironment } from '../command.ts'
import { bytesPerMb } from './shape.ts'

const timeoutMs = 100_000

/** Held while a tool works on the file: a machine that is still letting go of it has the same lock. */
const locked = (file: string, command: readonly string[]): string[] => ['--wait', '30', file, ...command]

/**
 * Replays the journal and mends what a box that lost its power has left. e2fsck(8) says with its exit code what it found: 0 and 1
 * are a disk that is well, now.
 */
const mend = async (file: string, signal: AbortSignal | undefined, force: boolean): Promise<void> => {
  const check = (how: string) => [tool('e2fsck'), how, ...(force ? ['-f'] : []), file]
  for (const how of ['-p', '-y']) {
    const late = AbortSignal.timeout(timeoutMs)
    const result = await runProcess({
      file: tool('flock'),
      args: locked(file, check(how)),
      env: toolEnvironment,
      input: undefined,
      capture: true,
      session: true,
      signal: signal ? AbortSignal.any([signal, late]) : late,
    })
    signal?.throwIfAborted()
    if (result.errno === 0 && !result.signal && (result.code === 0 || result.code === 1)) return
    const reason = `${file}: ${(result.said.trim() || result.output.trim()).slice(-500)}`
    if (how === '-y') throw fail('driver_failed', { driver: 'oci', step: 'disk', reason })
  }
}

/** Makes it ready for another start. */
export const tendDisk = (file: string, signal: AbortSignal | undefined): Promise<void> => mend(file, signal, false)

/** Makes it `mb` large, with everything in it. Interrupted, it is begun anew. */
export const growDisk = async (file: string, mb: number, signal: AbortSignal | undefined): Promise<void> => {
  await mend(file, signal, true)
  if ((await stat(file)).size < mb * bytesPerMb) await truncate(file, mb * bytesPerMb)
  await run({ step: 'disk', file: tool('flock'), args: locked(file, [tool('resize2fs'), file]), signal, timeoutMs })
}
