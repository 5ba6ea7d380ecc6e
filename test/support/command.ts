/** `hutch` as an operator types it, in a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { coverageEnvironment, programArguments } from './coverage.ts'

const root = new URL('../..', import.meta.url).pathname

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

/** Starts it, by the command `within` where one is given; `ended` resolves with how it went. */
export const startCommand = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  within: readonly string[] = [],
): { child: ChildProcess; ended: Promise<Ran> } => {
  const [file = '', ...all] = [...within, process.execPath, ...programArguments, 'control/main.ts', ...args]
  const child = spawn(file, all, {
    cwd: root,
    env: { ...coverageEnvironment, PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, error] = ['', '']
  child.stdout.on('data', piece => (out += piece))
  child.stderr.on('data', piece => (error += piece))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, error }))
  return { child, ended }
}

export const runCommand = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  within: readonly string[] = [],
): Promise<Ran> => startCommand(args, env, within).ended
