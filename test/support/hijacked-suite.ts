/** Outbound policies where the tenant is the daemon: it has its process, its capabilities and its place in the network from the start. */
import { cpSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { countPackets, escape, escapeArgs, make, packets, put, upload, type Sandbox } from './held-sandboxes.ts'
import { startWorld } from './internet/world.ts'
import { triesOfLiar } from './liar-suite.ts'
import { until } from './processes.ts'
import { thorough } from './thorough.ts'

const programs = new URL('../programs/', import.meta.url).pathname
const bundle = new URL('../../.runtime/bundle', import.meta.url).pathname

/** A runtime bundle whose daemon is ours (`hostile-daemon.py`); the rest is as it was built. */
export const hostileBundle = (dir: string): string => {
  const copy = join(dir, 'bundle')
  cpSync(realpathSync(bundle), copy, { recursive: true, verbatimSymlinks: true })
  const { command, channelPort } = JSON.parse(readFileSync(join(copy, 'bundle.json'), 'utf8'))
  rmSync(join(copy, 'bundle.json'))
  for (const file of ['hostile-daemon.py', 'liar.py']) cpSync(join(programs, file), join(copy, file))
  writeFileSync(join(copy, 'honest.json'), JSON.stringify(command))
  const hostile = ['/usr/bin/python3', '/.hutch/hostile-daemon.py']
  writeFileSync(join(copy, 'bundle.json'), JSON.stringify({ command: hostile, channelPort }))
  return copy
}

const policy = {
  allowedDomains: ['open.example', 'api.example'],
  proxy: {
    routing: [
      {
        destinations: ['api.example'],
        headers: { 'x-key': 'k-{{SECRET:key}}' },
        secrets: { key: 'hush-hush' },
      },
    ],
  },
}

/** Where the proxy is; nobody has told the sandbox's programs, for its daemon would have. */
const proxyOf = async ({ run }: Sandbox): Promise<string> =>
  `${/nameserver (\S+)/.exec(await run('cat /etc/resolv.conf'))?.[1]}:14080`

export const hijackedSuite = async (t: Test, runtime: string): Promise<void> => {
  const world = await startWorld(t, {
    HUTCH_RUNTIME: runtime,
    HUTCH_STANDBY_SECONDS: '600',
    HUTCH_BUNDLE_DIR: hostileBundle(t.testdir()),
  })
  const { server, reached } = world
  countPackets()
  const held = await make(world, 'held', policy)
  const free = await make(world, 'free')
  const proxy = await proxyOf(held)
  const args = (other: Sandbox, prefix: string): string => escapeArgs(world, proxy, other, prefix).join(' ')
  /** By itself: what it does to its network cuts off whoever waits for the answer. */
  const hijack = async (one: Sandbox, other: Sandbox, prefix: string, step: number): Promise<number> => {
    await one.run(`nohup python3 /root/hijack.py ${args(other, prefix)} ${step} > /root/${prefix} 2>&1 & echo`)
    const over = async () => (await one.run(`cat /root/${prefix}`)).trim() !== ''
    // All of it takes longer than anything is waited for, and on gVisor every program starts slowly.
    for (let turn = 0; turn < 300 && !(await over().catch(() => false)); turn++)
      await new Promise(resolve => setTimeout(resolve, 1_000))
    return Number(await one.run(`cat /root/${prefix}`))
  }
  for (const one of [held, free])
    for (const file of [escape, join(programs, 'hijack.py')]) await upload(one, file, `/root/${file.split('/').at(-1)}`)

  await t.test('it is the daemon, with all that a daemon may do', async t => {
    t.match(await held.run('cat /proc/1/cmdline | tr "\\0" " "'), /python3 \/\.hutch\/hostile-daemon\.py/)
    const mask = BigInt(`0x${/CapEff:\s*(\w+)/.exec(await held.run('cat /proc/self/status'))?.[1]}`)
    t.ok(mask & (1n << 12n), 'NET_ADMIN')
    // gVisor gives nobody raw sockets, and changes little of a network.
    if (runtime === 'runsc') return
    t.ok(mask & (1n << 13n), 'NET_RAW')
    t.equal(await held.run('ip addr add 10.99.99.99/32 dev lo && echo changed'), 'changed')
  })

  await t.test('what is allowed passes, with secrets that it never sees', async t => {
    t.match(await held.run('curl -sS -m 10 --cacert /etc/hutch-egress-ca.pem https://open.example/tls'), '"url":"/tls"')
    t.match(await held.run('curl -sS -m 10 http://api.example/v1'), '"x-key":"k-hush-hush"')
    const looking =
      'cat /proc/*/environ /proc/1/cmdline /proc/1/fd/0 2>/dev/null | tr "\\0" "\\n"; grep -rl hush-hush /etc /run /tmp /var'
    t.notMatch(await held.run(`timeout 20 sh -c '${looking}'`), /hush/)
  })

  await t.test('nothing leads out after it has changed its network', async t => {
    const before = packets()
    const count = await hijack(held, free, 'changed', thorough ? 1 : 4)
    t.ok(count >= (thorough ? 200 : 60), `${count} attempts`)
    t.same(reached('changed-'), [])
    t.same(packets(), before, 'not one packet')
    await hijack(free, held, 'free', 100)
    for (const name of ['free-nothing-tcp', 'free-nothing-udp', 'free-nothing-dns'])
      t.ok(reached(name).length > 0, `${name} would be noticed`)
  })

  await t.test('a new policy holds without its help', async t => {
    const two = await make(world, 'two', { proxy: { allowedDomains: ['open.example'] } })
    const read = () => two.run('curl -sS -m 10 -o /dev/null -w "%{http_code}" http://open.example/x || true')
    t.equal(await read(), '200')
    t.equal((await put(world, two, { proxy: { allowedDomains: ['www.open.example'] } })).status, 200)
    t.notMatch(await read(), /^200/)
    const config = Buffer.from(JSON.stringify({ peer_endpoint: '198.51.100.66:51820' })).toString('base64')
    const tunnel = await server.call('PUT', '/default/sandboxes/two/network/tunnel/config', { config })
    t.equal(tunnel.status, 409, 'it is not asked for a tunnel to a peer that is not allowed')
    await server.call('DELETE', '/v0/sandboxes/two')
  })

  await t.test('while nobody decides nothing leaves', async t => {
    await held.run(`nohup sh -c 'sleep 2; python3 /root/hijack.py ${args(free, 'down')} 100' > /root/down 2>&1 & echo`)
    const before = packets()
    await server.kill()
    await new Promise(resolve => setTimeout(resolve, 6_000))
    t.same(reached('down-'), [])
    t.same(packets(), before, 'not one packet')
    await server.start()
    await until('the attempts are over', async () => (await held.run('cat /root/down')) !== '')
    t.same(reached('down-'), [])
    t.equal(await held.run('curl -sS -m 10 -o /dev/null -w "%{http_code}" http://open.example/again'), '200')
    t.equal(
      await held.run(`curl -sS -m 10 -x http://${proxy} -o /dev/null -w "%{http_code}" http://evil.example/again`),
      '403',
    )
  })

  await t.test('none of the ways out of the long list leads out', async t => {
    const before = packets()
    const tried = (await held.run(`python3 /root/escape.py ${args(free, 'daemon')}`)).split(' ')
    t.ok(tried.length >= 100, `${tried.length} attempts: ${tried.slice(0, 3).join(' ')} …`)
    t.same(reached('daemon-'), [])
    t.same(packets(), before, 'not one packet')
  })

  await t.test('it lies to the host', t => triesOfLiar(t, server, false))

  for (const { name } of [held, free]) await server.call('DELETE', `/v0/sandboxes/${name}`)
}
