/** Looking for the process behind a connection costs the host little, however many descriptors a sandbox has. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readlinkSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { holderOf } from '../../../../control/drivers/oci/net/socket-holder.ts'
import { createAskers } from '../../../../control/network/egress/askers.ts'
import type { Tenant } from '../../../../control/network/egress/tenant.ts'
import { silentLog } from '../../../../shared/log.ts'

t.test('of thousands of descriptors some are looked at', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle
  const child = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', fd] })
  await once(child, 'spawn')
  const inode = /\d+/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[0] as string
  // From here on it is the child's alone.
  socket.destroy()
  await once(socket, 'close')
  const many = Array.from({ length: 1_100 }, () => openSync('/dev/null', 'r'))
  t.teardown(() => {
    for (const one of many) closeSync(one)
    child.kill()
    server.close()
  })
  const pid = child.pid as number
  t.equal(await holderOf([pid], inode), pid)
  t.equal(await holderOf([process.pid, pid], inode), pid)
  const all = Array.from({ length: 5 }, () => process.pid)
  t.equal(await holderOf([...all, pid], inode), undefined, 'one look ends')
})

t.test('one sandbox has few looks at once, and after a dear one none for a while', async t => {
  let now = 1_000_000
  const ends: (() => void)[] = []
  const askers = createAskers(
    () => new Promise(resolve => ends.push(() => resolve({ process: 'curl', words: ['curl'] }))),
    { now: () => now, log: silentLog },
  )
  const tenant = { mask: undefined } as unknown as Tenant
  const ask = (of = tenant) => {
    const socket = { remoteAddress: '192.0.2.1', remotePort: 1 } as Socket
    askers.look(of, socket)
    return ends.length
  }
  const settle = async () => {
    for (const end of ends.splice(0)) end()
    await new Promise(setImmediate)
  }
  for (let asked = 0; asked < 10; asked++) ask()
  t.equal(ends.length, 4)
  t.equal(ask({ ...tenant }), 5, 'another sandbox has its own')
  now += 10
  await settle()
  t.equal(ask(), 1, 'cheap ones hold nothing up')
  now += 100
  await settle()
  now += 1_999
  t.equal(ask(), 0)
  now += 2
  t.equal(ask(), 1)
})
