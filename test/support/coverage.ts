/** How a test starts programs of ours, and their coverage. */
import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const directory = process.env['NODE_V8_COVERAGE']

/** For the environment of a program of ours that starts with one of its own: with it the program counts where coverage is measured. */
export const coverageEnvironment: Record<string, string> = directory ? { NODE_V8_COVERAGE: directory } : {}

/**
 * Node's arguments for a server or a command that is started again and again: a third of such a start is to strip the types of its
 * sources, which is done once for all of them.
 */
export const stripArguments: readonly string[] = [
  // Who strips them first would say so, among what the program says.
  '--disable-warning=ExperimentalWarning',
  '--import',
  new URL('../strip-once.mjs', import.meta.url).href,
]

/** The same for one that counts: where coverage is measured `saveCoverage` works, so that it may be killed. */
export const programArguments: readonly string[] = [
  ...stripArguments,
  ...(directory ? ['--import', fileURLToPath(new URL('../programs/coverage-on-signal.ts', import.meta.url))] : []),
]

const waitMs = 30_000

/** Whether all of it is on the disk. */
const isWhole = (file: string): boolean => {
  try {
    JSON.parse(readFileSync(file, 'utf8'))
    return true
  } catch {
    return false
  }
}

/** Lets a program write what it has run so far, where coverage is measured: one that is killed leaves nothing else. */
export const saveCoverage = async (child: ChildProcess): Promise<void> => {
  const { pid } = child
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  if (!directory || pid === undefined || hasEnded()) return
  const files = () => readdirSync(directory).filter(name => name.startsWith(`coverage-${pid}-`))
  const before = new Set(files())
  process.kill(pid, 'SIGUSR2')
  for (const end = performance.now() + waitMs; performance.now() < end; ) {
    const written = files().find(name => !before.has(name))
    // One that was killed already leaves nothing: that it has ended may be heard later than that it does not answer.
    if (hasEnded() || (written && isWhole(join(directory, written)))) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`process ${pid} does not write its coverage`)
}
