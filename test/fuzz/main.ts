/**
 * Schemathesis on the API document that a sandbox serves, against that sandbox: what it sends may delete every file.
 *
 *     make fuzz [SEED=1] [N=50]
 *
 * Not part of the tests: it takes minutes, and the program comes from PyPI. Without either it says so and succeeds.
 */
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { withGatewayAnswers } from './gateway-answers.ts'
import { installSchemathesis, runSchemathesis } from './schemathesis.ts'

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

/**
 * Streams that end when the client leaves, a socket, and what cuts the sandbox off or replaces its daemon, which cuts off what it answers
 * meanwhile.
 */
const notAsked = [
  'filesystem.watch',
  'process.logs.stream',
  'terminal.socket',
  'tunnel.configure',
  'tunnel.stop',
  'system.upgrade',
]

const fuzz = async (undo: (() => unknown)[]): Promise<number> => {
  const host = await server({ teardown: one => undo.unshift(one) }, { HUTCH_STANDBY_SECONDS: '3600' })
  const made = await host.call('POST', '/v0/sandboxes', {
    metadata: { name: 'fuzz' },
    spec: { runtime: { image: 'base', memory: 1024 } },
  })
  const { url } = made.body.metadata
  const document = withGatewayAnswers((await host.call('GET', `${url}/swagger/openapi.json`)).text)
  const given = { document, url, key: host.key, hooks: 'checks.py', leftOut, notAsked, examples: 50 }
  const status = await runSchemathesis('sandbox', given)
  const look = () => host.call('GET', `${url}/health`)
  // The connection kept since before the run may be closed in the moment it is used again.
  const health = await look().catch(look)
  out(`fuzz: the daemon is ${health.status === 200 ? 'well' : `not well: ${health.text}`}`)
  return health.status === 200 ? status : 1
}

const why = whyNoMachines() ?? installSchemathesis()
if (why) out(`fuzz: skipped: ${why}`)
else {
  const undo: (() => unknown)[] = []
  try {
    process.exitCode = await fuzz(undo)
  } finally {
    for (const one of undo) await one()
  }
}
