import t from 'tap'
import {
  addressText,
  networkText,
  overlaps,
  parseAddress,
  parseNetwork,
  subnetOf,
  type Network,
} from '../../../../control/base/config/ipv4.ts'

const network = (text: string) => parseNetwork(text) as Network

t.test('addresses and networks are read strictly and written back', async t => {
  for (const text of ['0.0.0.0', '10.89.0.1', '255.255.255.255']) t.equal(addressText(parseAddress(text) ?? -1), text)
  for (const text of ['', '1.2.3', '1.2.3.4.5', '256.1.1.1', '1.2.3.x', ' 1.2.3.4', '::1', 'default'])
    t.equal(parseAddress(text), undefined, `"${text}"`)
  t.equal(networkText(network('10.89.3.7/16')), '10.89.0.0/16')
  t.equal(networkText(network('10.0.0.1')), '10.0.0.1/32')
  for (const text of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', 'local']) t.equal(parseNetwork(text), undefined, text)
})

t.test('networks overlap when one holds an address of the other', async t => {
  t.equal(overlaps(network('10.0.0.0/8'), network('10.89.0.0/16')), true)
  t.equal(overlaps(network('10.89.0.0/21'), network('10.89.8.0/21')), false)
  t.equal(overlaps(network('10.89.8.0/21'), network('10.89.15.255')), true)
})

t.test('a subnet that cannot serve is refused by the name of its variable', async t => {
  for (const text of ['', '10.89.0.0', '10.89.0.0/25', '0.0.0.0/0', 'fd00::/64'])
    t.throws(() => subnetOf(text), { code: 'invalid_argument', details: { field: 'HUTCH_SUBNET' } })
})
