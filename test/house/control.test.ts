/** Rules of the control side that no type can hold. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKinds } from '../../control/core/kinds/index.ts'
import { wireNames } from '../../control/base/wire/names.ts'
import { parseWireNames } from '../../shared/wire-names.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = globSync('control/**/*.ts', { cwd: root })
const read = (file: string): string =>
  readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

/** Without the name of the API that every machine's daemon speaks, which is no kind. */
const namesOf = (file: string): string => read(file).replaceAll("api: 'sandbox'", '')

t.test('resources and instances are written in one place', async t => {
  t.ok(sources.length > 100, 'found the sources')
  const writers = sources.filter(file => /\.apply\(|\bWritableStore\b/.test(read(file)))
  t.same(writers.filter(file => !file.startsWith('control/core/store/')).toSorted(), [
    // These open it, and hand it to the one below.
    'control/cli/existing-store.ts',
    'control/core/transitions/transition.ts',
    'control/host/parts.ts',
  ])
})

/** Where a kind may be called by its name: its own rooms; what the bill calls things; what old rows are called. */
const homes = (kind: string): RegExp =>
  new RegExp(`^control/((.+/)?${kind}s?/|core/kinds/|base/dimensions\\.ts$|core/store/sqlite/migrations/)`)

t.test('nothing asks for a kind by its name outside of its room', async t => {
  const kinds = Object.values(
    createKinds({ names: wireNames(parseWireNames('', '')) } as Parameters<typeof createKinds>[0]),
  )
  t.ok(kinds.length > 0)
  for (const { kind } of kinds) {
    const asking = sources.filter(file => new RegExp(`['"\`]${kind}['"\`]`).test(namesOf(file)))
    t.ok(asking.length > 0, `${kind} is named somewhere`)
    // An option of gVisor has the same name, so has a secret of providers, and documents give examples of names.
    const others = [
      'control/drivers/oci/runtime.ts',
      'control/server/api/spec-texts.ts',
      'control/core/models/providers/provider.ts',
      // What tools of a chat are called in OpenAI's dialect.
      'control/core/models/translate/answer.ts',
      'control/core/models/translate/cohere.ts',
      'control/core/models/translate/request.ts',
    ]
    const strangers = asking.filter(file => !homes(kind).test(file) && !others.includes(file))
    t.same(strangers, [], kind)
  }
})

t.test('what a machine answers is read in few places, which bound it', async t => {
  // The demo is a client of the server's, as any other.
  const served = sources.filter(file => !file.startsWith('control/cli/demo/'))
  const using = (pattern: RegExp) => served.filter(file => pattern.test(read(file))).toSorted()
  t.same(using(/\bcreateClient\(/), ['control/core/channel/client.ts'], 'a client is made with bounds')
  t.match(
    read('control/core/channel/client.ts'),
    /timeoutMs: number[^?]*maxBytes: number/,
    'which nobody may leave out',
  )
  t.same(
    using(/\bconnections\.(pool|open)\(/),
    [
      'control/core/channel/client.ts',
      // Keeps so much of an answer, and counts the rest.
      'control/core/workloads/async/ask.ts',
      // Sees whether something accepts, and reads nothing.
      'control/core/workloads/readiness.ts',
      // Counts what it reads.
      'control/library/ports.ts',
      // Relay bytes at the pace of the reader.
      'control/server/proxy/gateway/forward.ts',
      'control/server/proxy/gateway/splice.ts',
      // Reads nothing.
      'control/server/proxy/gateway/unsent.ts',
    ],
    'kept and new connections',
  )
  t.same(
    using(/\bimport .*\bconnect\b.* from 'node:net'/).filter(file => !file.startsWith('control/network/egress/')),
    // The first connects to a socket of ours; the last to the operator's name server, whose messages state their length.
    [
      'control/base/one-host.ts',
      'control/core/channel/connect.ts',
      'control/drivers/oci/ready.ts',
      'control/server/tls/acme/dns-update/update.ts',
    ],
    'connections by hand',
  )
  // One is a verb of that name; the others ask providers, and count what they read.
  t.same(
    using(/\bfetch\(/),
    [
      'control/core/catalogues/providers.ts',
      'control/library/ports.ts',
      'control/server/access/identity/elsewhere/fetch.ts',
    ],
    'no call without bounds',
  )
})
