/** Who reaches whom, and which address a record leaves from. */
import t from 'tap'
import { createMembers } from '../../../../control/network/outbound/members.ts'
import { createSources } from '../../../../control/network/outbound/sources.ts'

const box = (uid: string, name: string) => ({ uid, name, kind: 'box' })
const at = (host: string) => ({ host, port: 8080, channel: { port: 9, machine: 'm', generation: 'g' } })

t.test('members find each other by name and address, while they are there', async t => {
  const members = createMembers()
  const { find } = members.neighbours
  members.join(box('a', 'web'), 'team/lab')
  members.join(box('b', 'db'), 'team/lab')
  members.join(box('c', 'db'), 'team/other')
  members.join(box('d', 'db'), undefined)
  t.equal(find('a', 'db'), undefined, 'it has no machine yet')
  for (const [uid, host] of Object.entries({ a: '10.0.0.1', b: '10.0.0.3', c: '10.0.0.5', d: '10.0.0.7' }))
    members.place(uid, `m${uid}`, at(host))
  for (const host of ['db', 'db.internal', '10.0.0.3'])
    t.match(find('a', host), { address: '10.0.0.3', closedPorts: [8080, 9] }, host)
  for (const host of ['web', '10.0.0.1', '10.0.0.5', '10.0.0.7', 'db.example', ''])
    t.equal(find('a', host), undefined, host)
  t.equal(find('d', 'web'), undefined)
  t.equal(find('c', '10.0.0.3'), undefined)
  members.place('b', 'later', at('10.0.0.9'))
  members.place('b', 'mb', undefined)
  t.match(find('a', 'db'), { address: '10.0.0.9' }, 'its earlier machine takes nothing along')
  members.place('c', 'mc', at('10.0.0.3'))
  t.equal(find('a', '10.0.0.3'), undefined, 'an address that another network has now')
  members.leave('b')
  t.equal(find('a', 'db'), undefined)
  t.equal(find('a', '10.0.0.9'), undefined)
})

t.test('those that leave by one gateway share its addresses, and keep theirs when another comes', async t => {
  const sources = createSources()
  t.same(sources.give('ip1', { to: 'gate', address: '1.1.1.1' }), ['gate'])
  t.same(sources.give('ip1', { to: 'gate', address: '1.1.1.1' }), [], 'nothing new')
  sources.give('ip2', { to: 'gate', address: '1.1.1.2' })
  const uids = Array.from({ length: 200 }, (_, at) => `uid-${at}`)
  const before = uids.map(uid => sources.of('gate', uid))
  const first = before.filter(address => address === '1.1.1.1').length
  t.ok(first > 60 && first < 140, `${first} of 200`)
  sources.give('ip3', { to: 'gate', address: '1.1.1.3' })
  const after = uids.map(uid => sources.of('gate', uid))
  t.ok(after.every((address, i) => address === before[i] || address === '1.1.1.3'))
  t.equal(sources.of('other', 'uid-1'), undefined)
  for (const ip of ['ip1', 'ip2', 'ip3']) t.same(sources.give(ip, undefined), ['gate'])
  t.equal(sources.of('gate', 'uid-1'), undefined)
})
