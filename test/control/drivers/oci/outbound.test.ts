/** A machine that is held reaches the address of the outbound proxy and nothing else; who it is is told by its link. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Driver, Machine } from '../../../../control/drivers/driver.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())

const outboundOf = (driver: Driver) => {
  const { outbound } = driver
  if (!outbound) throw new Error('this box cannot hold machines')
  return outbound
}

/** Says who connected. */
const listener = async (t: Test, host: string, port: number): Promise<number> => {
  const server = createServer(socket => socket.end(`${socket.remoteAddress}\n`)).listen(port, host)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const hears = async (machine: Machine, host: string, port: number, seconds = 10): Promise<string> =>
  (await sh(machine, `nc -w ${seconds} ${host} ${port} </dev/null`)).out.trim()

t.test('what a held machine sends ends at the proxy, under its own address', async t => {
  const box = await openBox(t, kit)
  const outbound = outboundOf(box.driver)
  const { address, ports } = outbound
  await listener(t, address, ports.transparent)
  await listener(t, address, ports.proxy)
  const [held, free] = await Promise.all([
    box.driver.create(box.spec('held', { held: true, etc: { 'motto.txt': 'held\n' } })),
    box.driver.create(box.spec('free')),
  ])
  const host = held.address?.host as string
  t.equal(await hears(held, '203.0.113.7', 80), host, 'TCP to anywhere')
  t.equal(await hears(held, '10.1.2.3', 443), host, 'and to any network')
  t.equal(await hears(held, address, ports.proxy), host)
  t.match(await hears(free, address, ports.proxy, 2), 'timed out', 'who is not held does not reach it')
  t.equal(outbound.machineAt(host), 'held')
  t.equal(outbound.machineAt(free.address?.host as string), undefined)
  t.equal((await sh(held, 'cat /etc/resolv.conf /etc/motto.txt')).out, `nameserver ${address}\nheld\n`)
  const link = execFileSync('ip', ['-o', 'route', 'get', host], { encoding: 'utf8' }).split(' dev ')[1]?.split(' ')[0]
  t.equal(
    readFileSync(`/proc/sys/net/ipv4/conf/${link}/forwarding`, 'utf8').trim(),
    '0',
    'the kernel passes nothing on',
  )
})

t.test('after a restart, and until the machine goes, it is the same', async t => {
  const box = await openBox(t, kit)
  const held = await box.driver.create(box.spec('held', { held: true }))
  const host = held.address?.host as string
  const again = await box.reopen()
  t.equal(outboundOf(again).machineAt(host), 'held')
  t.equal(outboundOf(again).address, outboundOf(box.driver).address)
  await listener(t, outboundOf(again).address, outboundOf(again).ports.transparent)
  t.equal(await hears(held, '203.0.113.7', 80), host)
  await again.remove('held')
  t.equal(outboundOf(again).machineAt(host), undefined)
})
