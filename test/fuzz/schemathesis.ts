/** The program that sends what an API document allows and what it does not: installed here once, then run with our own checks. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const version = '4.32.5'
const root = fileURLToPath(new URL('../..', import.meta.url))
const home = join(root, '.runtime/fuzz')
const program = join(home, 'bin/st')

/** Undefined when it is there, else why it cannot be. */
export const installSchemathesis = (): string | undefined => {
  if (existsSync(program)) return undefined
  try {
    mkdirSync(home, { recursive: true })
    execFileSync('python3', ['-m', 'venv', home], { stdio: 'ignore' })
    execFileSync(join(home, 'bin/pip'), ['install', '-q', `schemathesis==${version}`], { stdio: 'inherit' })
    return undefined
  } catch (error) {
    return `schemathesis ${version} cannot be installed: ${String(error)}`
  }
}

export interface Fuzzed {
  /** Text of the document, and where its paths begin. */
  readonly document: string
  readonly url: string
  readonly key: string
  /** File of checks and hooks beside this one. */
  readonly hooks: string
  /** Checks that the contract contradicts. */
  readonly leftOut: readonly string[]
  /** Ids of operations that are not asked. */
  readonly notAsked: readonly string[]
  readonly examples: number
}

/** Resolves with its exit code; it writes what it finds to this process's output. */
export const runSchemathesis = async (given: Fuzzed): Promise<number> => {
  const { document, url, key, hooks, leftOut, notAsked, examples } = given
  const work = join(home, 'run')
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'openapi.json'), document)
  const options: Readonly<Record<string, string>> = {
    url,
    header: `Authorization: Bearer ${key}`,
    checks: 'all',
    'exclude-checks': leftOut.join(','),
    seed: process.env['SEED'] || '1',
    'max-examples': process.env['N'] || String(examples),
    'suppress-health-check': 'filter_too_much',
    'request-timeout': '30',
  }
  const args = [
    'run',
    'openapi.json',
    '--continue-on-failure',
    '--no-color',
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    ...notAsked.flatMap(id => ['--exclude-operation-id', id]),
  ]
  const child = spawn('nice', ['-n', '15', program, ...args], {
    cwd: work,
    stdio: 'inherit',
    env: { ...process.env, SCHEMATHESIS_HOOKS: join(root, 'test/fuzz', hooks) },
  })
  const [status] = (await once(child, 'exit')) as [number | null]
  return status ?? 1
}
