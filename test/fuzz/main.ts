/**
 * Schemathesis on the API document that a sandbox serves, against that sandbox: what it sends may delete every file.
 *
 *     make fuzz [SEED=1] [N=50]
 *
 * Not part of the tests: it takes minutes, and the program comes from PyPI. Without either it says so and succeeds.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'

const version = '4.32.5'
const root = fileURLToPath(new URL('../..', import.meta.url))
const home = join(root, '.runtime/fuzz')
const program = join(home, 'bin/st')
const out = (line: string) => process.stdout.write(`${line}\n`)

/** Checks that the contract contradicts, and why. */
const leftOut = [
  // Another method on a known path is 404, not 405.
  'unsupported_method',
  'allow_header_conformance',
  // Some 500s are the contract's; checks.py looks for the others.
  'not_a_server_error',
  // Whether a path exists, a port opens or a provider is configured is in no schema.
  'positive_data_acceptance',
]

/** Streams that end when the client leaves, a socket, and what cuts the sandbox off or replaces its daemon. */
const notAsked = ['filesystem.watch', 'process.logs.stream', 'terminal.socket', 'tunnel.configure', 'tunnel.stop']

const install = (): string | undefined => {
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

const fuzz = async (undo: (() => unknown)[]): Promise<number> => {
  const host = await server({ teardown: one => undo.unshift(one) }, { HUTCH_STANDBY_SECONDS: '3600' })
  const made = await host.call('POST', '/v0/sandboxes', {
    metadata: { name: 'fuzz' },
    spec: { runtime: { image: 'base', memory: 1024 } },
  })
  const { url } = made.body.metadata
  const work = join(home, 'run')
  mkdirSync(work, { recursive: true })
  const document = await host.call('GET', `${url}/swagger/openapi.json`)
  writeFileSync(join(work, 'openapi.json'), document.text)
  const options: Readonly<Record<string, string>> = {
    url,
    header: `Authorization: Bearer ${host.key}`,
    checks: 'all',
    'exclude-checks': leftOut.join(','),
    seed: process.env['SEED'] || '1',
    'max-examples': process.env['N'] || '50',
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
  const { status } = spawnSync('nice', ['-n', '15', program, ...args], {
    cwd: work,
    stdio: 'inherit',
    env: { ...process.env, SCHEMATHESIS_HOOKS: join(root, 'test/fuzz/checks.py') },
  })
  const look = () => host.call('GET', `${url}/health`)
  // The connection kept since before the run may be closed in the moment it is used again.
  const health = await look().catch(look)
  out(`fuzz: the daemon is ${health.status === 200 ? 'well' : `not well: ${health.text}`}`)
  return health.status === 200 ? (status ?? 1) : 1
}

const why = whyNoMachines() ?? install()
if (why) out(`fuzz: skipped: ${why}`)
else {
  const undo: (() => unknown)[] = []
  try {
    process.exitCode = await fuzz(undo)
  } finally {
    for (const one of undo) await one()
  }
}
