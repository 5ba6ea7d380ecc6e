/** The program that sends what an API document allows and what it does not: installed here once, then run with our own checks. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
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

/** A call of what is wrong may be refused for another reason first, as well: that is no acceptance. */
const settings = `[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, 431, 500, 501, 502, 503, 504]
`

/** No part goes on for longer, seconds: on a busy box the last phases are shorter. */
const mostSeconds = 420

/** The lines of its output that say what was done and what was found. */
const summaryOf = (log: string): string[] => {
  const lines = log.split('\n')
  const done = lines.filter(line => /generated/.test(line) && /^\s+\d/.test(line)).map(line => line.trim())
  const found = lines.filter(line => /^\s+(?:❌|🚫) (?:ST\d+|Network Error|.*: \d+$)/u.test(line))
  return [done.at(-1) ?? 'it did not come to its end', ...new Set(found.map(line => line.trim()))]
}

const run = async (program: string, args: readonly string[], hooks: string, work: string): Promise<number | null> => {
  const log = openSync(join(work, 'log'), 'w')
  try {
    const child = spawn('nice', ['-n', '15', program, ...args], {
      cwd: work,
      stdio: ['ignore', log, log],
      env: { ...process.env, SCHEMATHESIS_HOOKS: join(root, 'test/fuzz', hooks) },
    })
    const [status] = (await once(child, 'exit')) as [number | null]
    return status
  } finally {
    closeSync(log)
  }
}

/** Resolves with its exit code; what it says is in a file, of which this process's output has the sum. */
export const runSchemathesis = async (name: string, given: Fuzzed): Promise<number> => {
  const { document, url, key, hooks, leftOut, notAsked, examples } = given
  const work = join(home, 'run', name)
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'openapi.json'), document)
  writeFileSync(join(work, 'schemathesis.toml'), settings)
  const options: Readonly<Record<string, string>> = {
    url,
    header: `Authorization: Bearer ${key}`,
    checks: 'all',
    'exclude-checks': leftOut.join(','),
    seed: process.env['SEED'] || '1',
    'max-examples': process.env['N'] || String(examples),
    'max-time': String(mostSeconds),
    'suppress-health-check': 'filter_too_much',
    'request-timeout': '30',
    // On a busy box; of itself the program takes ten seconds for too long.
    'max-response-time': '30',
  }
  const args = [
    'run',
    'openapi.json',
    '--continue-on-failure',
    '--no-color',
    ...Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]),
    ...notAsked.flatMap(id => ['--exclude-operation-id', id]),
  ]
  const began = performance.now()
  const status = await run(program, args, hooks, work)
  const seconds = Math.round((performance.now() - began) / 1000)
  const [done = '', ...found] = summaryOf(readFileSync(join(work, 'log'), 'utf8'))
  process.stdout.write(`fuzz: ${status === 0 ? 'well' : `ENDED WITH ${status}`}: ${name}: ${done} (${seconds} s)\n`)
  if (status !== 0) process.stdout.write(`${[...found, `all of it: ${join(work, 'log')}`].join('\n')}\n`)
  return status ?? 1
}
