import { join } from 'node:path'
import t from 'tap'
import type { Egress } from '../../../../control/network/egress/egress.ts'
import { nothingKept } from '../../../../control/network/egress/events/kept.ts'
import { createMembers } from '../../../../control/network/outbound/members.ts'
import { createOutbound, createOwners } from '../../../../control/network/outbound/outbound.ts'
import type { OutboundRules, RulesByKind } from '../../../../control/core/transitions/rules.ts'
import type { Instance, Resource, Store, Written } from '../../../../control/core/store/store.ts'
import { silentLog } from '../../../../shared/log.ts'
import { surroundingsOf } from '../../../../control/network/outbound/surroundings.ts'
import { environmentFor, etcFiles, type WayOut } from '../../../../control/core/kinds/sandbox/network/outbound.ts'

const record = (uid: string, kind = 'box') => ({ uid, kind }) as Resource
const machine = (id: string, uid: string, status: string) => ({ id, owner: { uid }, status }) as Instance
const written = (part: Partial<Written>): Written => ({ resources: [], instances: [], removed: [], ...part })

/** An engine that writes down what it is told, and records whose policies are in `rules`. */
const setup = () => {
  const told: string[] = []
  const errors: string[] = []
  const rules = new Map<string, OutboundRules>()
  const egress = {
    setPolicy: (uid: string, policy: unknown) => void told.push(`set ${uid} ${JSON.stringify(policy)}`),
    remove: (uid: string) => void told.push(`remove ${uid}`),
    disconnect: (uid: string) => void told.push(`disconnect ${uid}`),
  } as unknown as Egress
  const owners = createOwners({ machineAt: address => ({ '10.0.0.3': 'm1', '10.0.0.5': 'm2' })[address] })
  const kinds = new Map([['box', { workload: { outbound: ({ uid }: Resource) => rules.get(uid) } }]])
  const outbound = createOutbound({
    egress,
    owners,
    members: createMembers(),
    files: { of: () => nothingKept, remove() {}, keepOnly() {} },
    rules: kinds as unknown as RulesByKind,
    store: {} as Store,
    log: { ...silentLog, error: event => void errors.push(event) },
  })
  return { told, errors, rules, owners, outbound }
}

const saying = (version: string): OutboundRules => ({ version, open: () => ({ version }) })

t.test('a policy is given when it is written, and not again while it stays the same', async t => {
  const { told, rules, outbound } = setup()
  rules.set('a', saying('1'))
  outbound.written(written({ resources: [record('a'), record('b'), record('c', 'other')] }))
  outbound.written(written({ resources: [record('a')] }))
  t.same(told, ['set a {"version":"1"}'])
  rules.set('a', saying('2'))
  outbound.written(written({ resources: [record('a')] }))
  outbound.written(written({ removed: [{ uid: 'a' } as Written['removed'][0], { uid: 'b' } as Written['removed'][0]] }))
  t.same(told.slice(1), ['set a {"version":"2"}', 'remove a'])
})

t.test('a policy that cannot be read is no way out', async t => {
  const { told, errors, rules, outbound } = setup()
  rules.set('a', saying('1'))
  outbound.written(written({ resources: [record('a')] }))
  const open = () => {
    throw new Error('sealed under another key')
  }
  rules.set('a', { version: '2', open })
  outbound.written(written({ resources: [record('a')] }))
  t.same(told.slice(1), ['remove a'])
  t.same(errors, ['outbound.shut'])
  rules.set('a', saying('3'))
  outbound.written(written({ resources: [record('a')] }))
  t.same(told.slice(2), ['set a {"version":"3"}'], 'the next one holds again')
})

t.test('a connection is of whoever has the machine at the link, while it is up', async t => {
  const { told, owners, outbound } = setup()
  outbound.written(written({ instances: [machine('m1', 'a', 'running')] }))
  t.equal(owners.of('10.0.0.3'), 'a')
  t.equal(owners.of('10.0.0.5'), undefined, 'a machine of nobody')
  t.equal(owners.of('10.0.0.9'), undefined, 'no machine')
  t.equal(owners.of(undefined), undefined)
  outbound.written(written({ instances: [machine('m1', 'b', 'running')] }))
  t.equal(owners.of('10.0.0.3'), 'b', 'given to another')
  t.same(told, [])
  outbound.written(written({ instances: [machine('m1', 'b', 'stopping')] }))
  t.equal(owners.of('10.0.0.3'), undefined)
  t.same(told, ['disconnect b'])
})

t.test('without a policy, sandboxes are told of the network that the host is in, or of nothing', async t => {
  const file = join(t.testdir({ 'ca.pem': '-----BEGIN CERTIFICATE-----\nx\n', 'no.pem': 'no' }), 'ca.pem')
  const none = { caFile: '', sandboxProxy: '', sandboxNoProxy: [] }
  t.equal(await surroundingsOf(none), undefined)
  const trusting = await surroundingsOf({ ...none, caFile: file })
  const stored = {} as Parameters<typeof environmentFor>[1]
  t.match(etcFiles(trusting as WayOut)['hutch-egress-ca.pem'], /BEGIN CERTIFICATE/)
  const variables = environmentFor(trusting as WayOut, stored)
  t.equal(variables['SANDBOX_EXTRA_CA_CERTS'], '/etc/hutch-egress-ca.pem')
  t.notOk('HTTPS_PROXY' in variables)
  const proxied = await surroundingsOf({ ...none, sandboxProxy: 'http://p:1', sandboxNoProxy: ['.corp'] })
  t.same(etcFiles(proxied as WayOut), {})
  const told = environmentFor(proxied as WayOut, stored)
  t.match(told, { https_proxy: 'http://p:1', NO_PROXY: /,\.corp$/ })
  t.notOk('SANDBOX_EXTRA_CA_CERTS' in told)
  for (const caFile of [`${file}x`, file.replace('ca.pem', 'no.pem')])
    await t.rejects(surroundingsOf({ ...none, caFile }), { code: 'invalid_argument', message: /^HUTCH_CA_FILE: / })
})

t.test(
  'at the start a record that cannot be read has no way out, keeps its events, and the others have theirs',
  async t => {
    const told: string[] = []
    const shut: unknown[] = []
    const kept: string[] = []
    const owners = createOwners({ machineAt: () => 'm1' })
    const outbound = createOutbound({
      egress: { setPolicy: (uid: string) => void told.push(`set ${uid}`), disconnect() {} } as unknown as Egress,
      owners,
      members: createMembers(),
      files: { of: () => nothingKept, remove() {}, keepOnly: uids => void kept.push(...uids) },
      rules: new Map([['box', { workload: { outbound: () => saying('1') } }]]) as unknown as RulesByKind,
      store: {
        resources: {
          everyOf: async (_kind: string, unreadable: (uid: string, error: unknown) => void) => {
            unreadable('torn', new Error('no JSON'))
            return [record('whole')]
          },
        },
        instances: {
          every: async (unreadable: (id: string, error: unknown) => void) => {
            unreadable('m1', new Error('no JSON'))
            return []
          },
        },
      } as unknown as Store,
      log: { ...silentLog, error: (event, fields) => void shut.push([event, fields]) },
    })
    await outbound.load()
    t.same(told, ['set whole'])
    t.match(shut, [['outbound.shut', { record: 'torn' }]])
    t.same(kept.toSorted(), ['torn', 'whole'])
    t.equal(owners.of('10.0.0.3'), undefined, 'whose machine it is nobody knows')
  },
)
