/** Which entries of an owner's lists let UDP out. */
import t from 'tap'
import { compileDatagrams, datagramEntries } from '../../../shared/policy/datagrams.ts'

t.test('an address, with or without a port, and a network where it is one', async t => {
  const domains = ['203.0.113.7', '203.0.113.8:51820', '203.0.113.0/24', 'open.example', '*', 'GET:203.0.113.9']
  t.same(datagramEntries(domains, []), ['203.0.113.7', '203.0.113.8:51820'], 'what follows a slash there is a path')
  const bypass = ['198.51.100.0/25', '192.0.2.1', '192.0.2.2:53', '.open.example', '*.open.example']
  t.same(datagramEntries([], bypass), ['198.51.100.0/25', '192.0.2.1'], 'bypass lists know no ports')
  const { find } = compileDatagrams(datagramEntries(domains, bypass))
  t.equal(find('203.0.113.7', 9), '203.0.113.7')
  t.equal(find('203.0.113.8', 51_820), '203.0.113.8:51820')
  t.equal(find('198.51.100.127', 1), '198.51.100.0/25')
  for (const [address, port] of [
    ['203.0.113.8', 51_821],
    ['203.0.113.9', 9],
    ['198.51.100.128', 1],
    ['203.0.113.7', 53],
    ['203.0.113.7', 443],
    ['198.51.100.1', 443],
    ['open.example', 9],
    ['[2001:db8::1]', 9],
  ] as const)
    t.equal(find(address, port), undefined, `${address} ${port}`)
})

t.test('what is none of these lets out nothing', async t => {
  const odd = [
    '203.0.113.07',
    '203.0.113.7:0',
    '203.0.113.7:070',
    '203.0.113.7:65536',
    '203.0.113.7:',
    '203.0.113.7/33',
    '203.0.113.7:1/24',
    '203.0.113.256',
    '203.0.113',
    '3405803783',
    '0x7f.1',
    ' 203.0.113.7',
    '203.0.113.7\n',
    '!203.0.113.7',
    '[2001:db8::1]:9',
  ]
  t.same(datagramEntries(odd, odd), [])
  const { find } = compileDatagrams(odd)
  for (const address of ['203.0.113.7', '203.0.113.256', '127.0.0.1', '0.0.0.0'])
    for (const port of [0, 1, 70, 65_535]) t.equal(find(address, port), undefined, `${address} ${port}`)
})
