import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import { accepts, portsReady } from '../../../daemon/network/ready.ts'

const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))

const listener = (host: string): string =>
  `const s = require('net').createServer().listen(0, '${host}', () => console.log(s.address().port))`

/** A process of its own group that runs `command` and prints a port. */
const started = async (t: Test, command: string, args: string[]): Promise<{ child: ChildProcess; port: number }> => {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch {
      // ESRCH: it is gone already.
    }
  })
  const [line] = (await once(child.stdout as NonNullable<typeof child.stdout>, 'data')) as [Buffer]
  return { child, port: Number(line.toString()) }
}

t.test('a listener on every address is ready, one on loopback is not', async t => {
  for (const [host, expected] of [
    ['0.0.0.0', true],
    ['::', true],
    ['127.0.0.1', false],
    ['::1', false],
  ] as const) {
    if (host.includes(':') && !hasIpv6) continue
    const { child, port } = await started(t, process.execPath, ['-e', listener(host)])
    t.equal(await portsReady(child.pid as number, [port]), expected, host)
    t.equal(await portsReady(process.pid, [port]), expected, `${host}, asked of the parent`)
  }
})

t.test('a loopback listener is not ready though it accepts', async t => {
  const { child, port } = await started(t, process.execPath, ['-e', listener('127.0.0.1')])
  t.equal(await accepts(port), true)
  t.equal(await portsReady(child.pid as number, [port]), false)
})

t.test('the listener may be the child of a shell, or left behind by one', async t => {
  const script = `"$0" -e "$1"; true`
  const below = await started(t, 'sh', ['-c', script, process.execPath, listener('0.0.0.0')])
  t.equal(await portsReady(below.child.pid as number, [below.port]), true)
  const left = await started(t, 'sh', ['-c', `"$0" -e "$1" &`, process.execPath, listener('0.0.0.0')])
  if (left.child.exitCode === null && left.child.signalCode === null) await once(left.child, 'exit')
  t.equal(await portsReady(left.child.pid as number, [left.port]), true)
})

t.test("somebody else's listener does not count", async t => {
  const server = createServer().listen(0, '0.0.0.0')
  t.teardown(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { child } = await started(t, process.execPath, ['-e', `console.log(1); setInterval(() => {}, 1e9)`])
  t.equal(await portsReady(child.pid as number, [port]), false)
  t.equal(await portsReady(process.pid, [port]), true)
})

t.test('all ports must be there at once', async t => {
  const server = createServer().listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = createServer().listen(0, '0.0.0.0')
  await once(other, 'listening')
  const { port: second } = other.address() as AddressInfo
  t.equal(await portsReady(process.pid, [port, second]), true)
  await new Promise(resolve => other.close(resolve))
  t.equal(await portsReady(process.pid, [port, second]), false)
  t.equal(await portsReady(process.pid, []), true)
  await new Promise(resolve => server.close(resolve))
  t.equal(await accepts(port), false)
})
