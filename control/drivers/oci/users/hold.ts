/** Pairs of a user namespace and a network namespace that belongs to it, for as long as it takes to name the second. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { getSystemErrorMessage } from 'node:util'
import { fail } from '../../../../shared/errors.ts'
import { rebuild } from '../../../../shared/installation.ts'
import { toolEnvironment } from '../command.ts'
import { program } from '../native/programs.ts'

const impossible = (reason: string, cause?: unknown) =>
  fail('driver_failed', { driver: 'oci', step: 'user namespaces', reason }, cause)

const wrong = (text: string): string => {
  const [, step, number] = /^(\w+) (\d+)$/m.exec(text) ?? []
  return step === undefined ? `it said "${text.slice(0, 200)}"` : `${step}: ${getSystemErrorMessage(-Number(number))}`
}

/**
 * Calls `use` with a process id for each range, of a process in a user namespace with this range and in a network
 * namespace of its own; they end when `use` is done. Throws `driver_failed` where the kernel makes none.
 */
export const withNamespaces = async <T>(
  ranges: readonly number[],
  use: (pids: readonly number[]) => Promise<T>,
): Promise<T> => {
  const child = spawn(program('hold-namespaces'), ranges.map(String), {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: toolEnvironment,
    // In a session of its own: a Ctrl-C that stops the server does not end what it is about to use.
    detached: true,
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const ended = once(child, 'close').catch((error: unknown) => {
    throw impossible(`${program('hold-namespaces')} cannot be started; ${rebuild}`, error)
  })
  // Whoever waits for it hears of a failure; nobody has to.
  ended.catch(() => {})
  try {
    return await use(await readPids(child.stdout, ranges.length, ended))
  } finally {
    child.stdin.destroy()
    await ended
  }
}

const readPids = async (
  output: AsyncIterable<Buffer>,
  count: number,
  ended: Promise<unknown>,
): Promise<readonly number[]> => {
  let text = ''
  for await (const piece of output) {
    text += piece.toString()
    const lines = text.split('\n').slice(0, -1)
    if (lines.length >= count && lines.every(line => /^\d+$/.test(line))) return lines.map(Number)
  }
  await ended
  throw impossible(wrong(text))
}
