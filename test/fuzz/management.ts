/**
 * Schemathesis on the document of the management API, against a whole host whose machines are pretended: no answer of 5xx, and each
 * answer as the document has it. Some of what it sends is put at the addresses of records that are there (management.py).
 *
 *     make fuzz [SEED=1] [N=30]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openTestHost, type TestHost } from '../support/whole-host.ts'
import { installSchemathesis, runSchemathesis } from './schemathesis.ts'

const out = (line: string) => process.stdout.write(`${line}\n`)

/** Checks that the contract contradicts, and why. */
const leftOut = [
  // What a body names (a policy, an image, a domain) has to be there, which no schema says.
  'positive_data_acceptance',
  // Unknown members are accepted with a warning, and lists and maps may be texts that hold JSON.
  'negative_data_rejection',
]

/** What is there for every address: a record of each kind that others are inside of. */
const records: readonly (readonly [path: string, body: object])[] = [
  ['/workspaces', { name: 'spare' }],
  ['/sandboxes', { metadata: { name: 'known', externalId: 'known' }, spec: { runtime: { image: 'busybox' } } }],
  ['/sandboxes/known/previews', { metadata: { name: 'known' }, spec: { port: 3000 } }],
  ['/sandboxes/known/previews/known/tokens', { metadata: { name: 'known' }, spec: {} }],
  ['/agents', { metadata: { name: 'known' }, spec: {} }],
  ['/functions', { metadata: { name: 'known' }, spec: {} }],
  ['/models', { metadata: { name: 'known' }, spec: {} }],
  ['/jobs', { metadata: { name: 'known' }, spec: {} }],
  ['/applications', { metadata: { name: 'known' }, spec: {} }],
  ['/volumes', { metadata: { name: 'known', externalId: 'known' }, spec: {} }],
  ['/volume_templates', { metadata: { name: 'known' }, spec: {} }],
  ['/drives', { metadata: { name: 'known', externalId: 'known' }, spec: {} }],
  ['/policies', { metadata: { name: 'known' }, spec: { type: 'location', locations: [] } }],
  ['/integrations/connections', { metadata: { name: 'known' }, spec: { integration: 'openai' } }],
  ['/customdomains', { metadata: { name: 'known.example.com' }, spec: {} }],
  ['/vpcs', { metadata: { name: 'known' }, spec: {} }],
]

/** Makes the records, and again whenever one was deleted; throws when one cannot be made. Returns what ends that. */
const keep = async (api: TestHost['api']): Promise<() => Promise<void>> => {
  let isOver = false
  const makeAll = async (allowed: readonly number[]) => {
    for (const [path, body] of records) {
      const { status, text } = await api('POST', path, body)
      if (!allowed.includes(status)) throw new Error(`${path}: ${text}`)
    }
  }
  await makeAll([200])
  const again = (async () => {
    while (!isOver) {
      await new Promise(resolve => setTimeout(resolve, 200))
      // Names are taken, or what one is inside of was deleted a moment ago.
      await makeAll([200, 400, 404, 409])
    }
  })()
  return () => {
    isOver = true
    return again
  }
}

const fuzz = async (undo: (() => unknown)[]): Promise<number> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'hutch-fuzz-'))
  undo.unshift(() => rmSync(dataDir, { recursive: true, force: true }))
  const t = { teardown: (one: () => unknown) => undo.unshift(one) } as unknown as Test
  const { host, api } = await openTestHost(t, dataDir)
  const { url } = await host.listen()
  undo.unshift(await keep(api))
  const document = (await api('GET', '/openapi.json')).text
  const key = host.first.adminKey
  const given = { document, url, key, hooks: 'management.py', leftOut, notAsked: [], examples: 30 }
  const status = await runSchemathesis('management', given)
  const health = await api('GET', '/healthz')
  out(`fuzz: the host is ${health.status === 200 ? 'well' : `not well: ${health.text}`}`)
  return health.status === 200 ? status : 1
}

const why = installSchemathesis()
if (why) out(`fuzz: skipped: ${why}`)
else {
  const undo: (() => unknown)[] = []
  try {
    process.exitCode = await fuzz(undo)
  } finally {
    for (const one of undo) await one()
  }
}
