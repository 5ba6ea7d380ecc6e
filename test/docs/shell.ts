/** Runs the steps of a page in one bash. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Step } from './page.ts'

const mark = '\x1e'
const limitMs = 240_000

/**
 * Answers what each step printed. Steps share variables and a directory of their own; the first command that fails ends
 * the run, and is told with what it said. `prologue` comes before the first.
 */
export const runSteps = async (steps: readonly Step[], prologue: string): Promise<string[]> => {
  const home = mkdtempSync(join(tmpdir(), 'hutch-docs-'))
  try {
    writeFileSync(join(home, '.curlrc'), 'max-time = 120\n')
    const script = [prologue, ...steps.flatMap(({ script: one }) => [one, `printf '${mark}'`])].join('\n')
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: home,
      env: { PATH: process.env['PATH'] ?? '', HOME: home, LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    })
    const ended = new Promise<string>(resolve => child.once('close', (code, signal) => resolve(signal ?? String(code))))
    const [out, words, end] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    const outputs = out.split(mark)
    const last = outputs.pop() ?? ''
    if (end !== '0' || outputs.length !== steps.length) {
      const step = steps[outputs.length]
      throw new Error(`line ${(step?.line ?? 0) + 1} ended with ${end}: ${step?.script}\n${last}\n${words}`)
    }
    return outputs
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
