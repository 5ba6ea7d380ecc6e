/** Outbound policies of sandboxes from end to end: a whole server, real machines, the small internet around it. */
import { spawn, spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import { countPackets, escape, escapeArgs, make, namespaceOf, packets, put, quoted, upload } from './held-sandboxes.ts'
import { datagramsSuite } from './datagrams-suite.ts'
import { addresses } from './internet/network.ts'
import { startWorld } from './internet/world.ts'
import { until } from './processes.ts'
import { shell } from './tunnel-net.ts'
import { tunnelSuite } from './tunnel-suite.ts'
import { placesWith } from './secret-places.ts'
import { sample, thorough } from './thorough.ts'

const silent = 'sh-of-the-rule-4711'
const bait = 'canary-of-the-rule-4711'
const policy = {
  allowedDomains: ['open.example', '*.open.example', 'api.example', '203.0.113.20:9100'],
  forbiddenDomains: ['bad.open.example'],
  proxy: {
    routing: [
      {
        destinations: ['api.example'],
        headers: { 'x-key': 'k-{{SECRET:key}}', 'x-id': '{{FUNC:uuid()}}' },
        body: { token: '{{SECRET:key}}' },
        secrets: { key: 'hush-hush' },
      },
      // Whose server is not heard: what it says back is the sandbox's.
      { destinations: ['quiet.open.example'], headers: { 'x-key': '{{SECRET:key}}' }, secrets: { key: silent } },
    ],
    canaries: { bait },
  },
}

/** A TLS connection that nobody on the way reads, made while it is allowed and used after a file is there. */
const lateRequest = `
import os, socket, ssl, time
context = ssl.create_default_context()
connection = context.wrap_socket(socket.create_connection(("open.example", 443)), server_hostname="open.example")
print("open", flush=True)
while not os.path.exists("/root/go"): time.sleep(0.02)
try:
    connection.sendall(b"GET /too-late HTTP/1.1\\r\\nHost: open.example\\r\\n\\r\\n")
    print("answered" if connection.recv(100) else "cut")
except OSError:
    print("cut")
`

/** A request of a process that is still there when somebody looks for it. */
const slowRequest = `
import socket, time
connection = socket.create_connection(("evil.example", 80))
time.sleep(0.5)
connection.sendall(b"GET /seen HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n")
time.sleep(0.5)
print(connection.recv(100))
`

/** What a client of QUIC hears to its first packet, as RFC 9000 would have it tell the application. */
const quicClient = `
import socket
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(5)
client.connect(("203.0.113.10", 443))
client.send(b"x" * 1200)
try:
    print("answered", client.recv(100))
except Exception as error:
    print(type(error).__name__)
`

export const outboundSuite = async (t: Test, runtime: string): Promise<void> => {
  const world = await startWorld(t, {
    HUTCH_RUNTIME: runtime,
    HUTCH_STANDBY_SECONDS: '600',
    HUTCH_LOG_LEVEL: 'debug',
  })
  const { server, reached } = world
  countPackets()
  const held = await make(world, 'held', policy)
  const free = await make(world, 'free')
  const proxy = await held.run('echo ${HTTP_PROXY#http://}')
  const get = (url: string, more = '') => held.run(`curl -sS -m 10 ${more} ${url}`)
  const direct = '--noproxy "*"'

  await t.test('what is allowed passes, by the proxy and past it', async t => {
    for (const how of ['', direct]) {
      t.match(await get('http://open.example/plain', how), '"url":"/plain"')
      t.match(await get('https://www.open.example/tls', how), '"url":"/tls"')
    }
    t.equal(
      await held.run('python3 -c \'import urllib.request as u; print(u.urlopen("https://open.example/py").status)\''),
      '200',
    )
    t.equal(await held.run('node -e \'fetch("https://open.example/node").then(r => console.log(r.status))\''), '200')
  })

  await t.test('what is not is answered with 403', async t => {
    for (const url of ['http://evil.example/', 'http://bad.open.example/', 'https://evil.example/'])
      t.match(await get(url, '-i'), /403 Forbidden[^]*Proxy-Error: firewall_blocked/i, url)
    t.match(await held.run('getent hosts evil.example || echo unknown'), 'unknown')
    t.equal(await held.run(`python3 -c '${quicClient}'`), 'ConnectionRefusedError', 'QUIC goes on with TCP at once')
    const tunnel = (name: string, peer: string) =>
      server.call('PUT', `/default/sandboxes/${name}/network/tunnel/config`, {
        config: Buffer.from(JSON.stringify({ peer_endpoint: peer })).toString('base64'),
      })
    for (const peer of ['203.0.113.20:9000', 'open.example:9100', '[2001:db8::1]:9100']) {
      const { status, body } = await tunnel('held', peer)
      t.equal(status, 409, peer)
      t.match(body.error, /is held to an outbound policy; a tunnel to .*:9[01]00 .* is not allowed$/)
    }
    t.equal((await tunnel('held', '203.0.113.20:9100')).status, 422, 'its daemon looks at what is allowed')
    t.equal((await tunnel('free', '203.0.113.20:9000')).status, 422, 'and at all that is not held')
    t.match(
      await get('https://evil.example/', `-ik --resolve evil.example:443:203.0.113.10 ${direct}`),
      /403[^]*firewall_blocked/,
    )
  })

  await datagramsSuite(t, world, held, { policy, runtime })
  if (runtime === 'runc') await tunnelSuite(t, world)

  await t.test('secrets are put in on the way, and are nowhere inside', async t => {
    const answer = await get(
      'https://api.example/v1',
      `-i -H 'content-type: application/json' -d '{"a":1,"note":"{{SECRET:key}}"}'`,
    )
    t.match(answer, '"x-key":"k-hush-hush"')
    t.match(answer, /token\\":\\"hush-hush/)
    t.match(answer, /x-svc-func-x-id: uuid=/i)
    t.match(
      await get('https://open.example/no', `-H 'x-mine: {{SECRET:key}}'`),
      '{{SECRET:key}}',
      'for its destinations only',
    )
    t.notMatch(
      await held.run(
        'cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"; grep -rl hush-hush /etc /run /root /tmp 2>/dev/null',
      ),
      'hush',
    )
    world.names.table.set('quiet.open.example', [addresses.cdn])
    await held.run('curl -sS -o /dev/null -m 10 https://quiet.open.example/silent')
    t.match(reached('/silent').at(-1)?.text, silent)
    await server.call('PUT', '/v0/sandboxes/held', { spec: { network: { proxy: { canaries: [bait, silent] } } } })
    const { looked, found } = await placesWith(server, 'held', [silent, bait], world.within)
    t.same(found, [], 'nor in any answer, file, backup, log or list of processes')
    t.ok(looked > 200, `${looked} places`)
    t.notMatch(server.output(), 'hush')
  })

  await t.test('programs trust what is opened', async t => {
    const tools = {
      curl: 'curl -sS -m 10 https://api.example/tool-curl',
      wget: 'wget -qO- -T 10 https://api.example/tool-wget',
      git: 'git ls-remote https://api.example/tool-git',
      pip: 'pip3 download --no-input --retries 0 --timeout 10 -i https://api.example/tool-pip x',
      npm: 'cd /tmp && npm view tool-npm --registry=https://api.example/ --fetch-retries=0',
      apt: `echo 'deb [trusted=yes] https://api.example/tool-apt x main' > /tmp/list; apt-get update -o Dir::Etc::sourcelist=/tmp/list -o Dir::Etc::sourceparts=- -o Acquire::Retries=0`,
      node: `node -e 'fetch("https://api.example/tool-node")'`,
      python: `python3 -c 'import urllib.request as u; u.urlopen("https://api.example/tool-python")'`,
      openssl: `sh -c 'printf "GET /tool-openssl HTTP/1.1\\r\\nHost: api.example\\r\\nConnection: close\\r\\n\\r\\n" | timeout 10 openssl s_client -quiet -verify_return_error -servername api.example -connect api.example:443'`,
    }
    // Start-up of a program takes seconds on gVisor.
    for (const [name, command] of sample(Object.entries(tools), runtime === 'runc' ? 1 : 9)) {
      const said = await held.run(command)
      t.ok(reached(`tool-${name}`).length > 0, `${name}: ${said}`)
    }
  })

  await t.test('as root inside, there is no other way out', async t => {
    await upload(held, escape, '/root/escape.py')
    await upload(free, escape, '/root/escape.py')
    const before = packets()
    const tried = (await held.run(`python3 /root/escape.py ${escapeArgs(world, proxy, free, 'esc').join(' ')}`)).split(
      ' ',
    )
    t.ok(tried.length >= 100, `${tried.length} attempts: ${tried.slice(0, 3).join(' ')} …`)
    t.same(reached('esc-'), [])
    t.same(packets(), before, 'not one packet')
    // The same program where nothing holds it: the proof that it would have been noticed.
    await free.run(`python3 /root/escape.py ${escapeArgs(world, proxy, free, 'open').join(' ')}`)
    const out = new Set(reached('open-').map(({ host, text }) => /open-[a-z-]+/.exec(`${host} ${text}`)?.[0]))
    for (const name of [
      'tcp-to-an-address',
      'tls-with-an-allowed-name',
      'udp-to-an-address',
      'udp-to-another-port-of-a-peer',
      'quic',
      'dns-to-another-resolver',
    ])
      t.ok(out.has(`open-${name}`), `${name} is noticed`)
    t.ok((packets()['attacker'] ?? 0) > (before['attacker'] ?? 0))
  })

  await t.test('nor for who has taken over the whole network inside', async t => {
    const netns = namespaceOf(world, held)
    const args = escapeArgs(world, proxy, free, 'hijack')
    const before = packets()
    const result = spawnSync('nsenter', [`--net=/run/netns/${netns}`, 'python3', escape, ...args], {
      encoding: 'utf8',
      timeout: 120_000,
    })
    t.match(result.stdout, 'a-gateway-of-its-own', result.stderr)
    t.same(reached('hijack-'), [])
    t.same(packets(), before, 'not one packet')
  })

  // The host's firewall is the same for both; a third turn of the long list takes gVisor half a minute.
  if (runtime === 'runc' || thorough)
    await t.test('nor while somebody has flushed the firewall of the box', async t => {
      const one = await make(world, 'one', { proxy: { allowedDomains: ['open.example'] } })
      await upload(one, escape, '/root/escape.py')
      const before = packets()
      // Again and again: the server mends it.
      const flush =
        'for i in $(seq 100); do iptables -w -F; iptables -w -t nat -F; iptables -w -t raw -F; sleep 0.1; done'
      const flushing = spawn('nsenter', ['--net=/run/netns/box', 'sh', '-c', flush], { stdio: 'ignore' })
      await one.run(`python3 /root/escape.py ${escapeArgs(world, proxy, free, 'flushed').join(' ')}`)
      flushing.kill('SIGKILL')
      // The box itself answers for its own addresses: that is the fence's, not the policy's.
      t.same(reached('flushed-'), [])
      t.same(packets(), before, 'not one packet')
      await server.call('DELETE', '/v0/sandboxes/one')
      await until('fences', async () =>
        spawnSync('nsenter', ['--net=/run/netns/box', 'iptables', '-S', server.names.chain]).stdout.includes(
          'devgroup',
        ),
      )
    })

  await t.test('a new policy holds when the update is answered', async t => {
    const two = await make(world, 'two', { proxy: { allowedDomains: ['open.example'] } })
    const read = () => two.run('curl -sS -m 10 -o /dev/null -w "%{http_code}" https://open.example/x || true')
    t.equal(await read(), '200')
    await two.run(`nohup python3 -c ${quoted(lateRequest)} > /root/late 2>&1 &`)
    await until('a connection that is open', async () => (await two.run('cat /root/late')).includes('open'))
    t.equal((await put(world, two, { proxy: { allowedDomains: ['www.open.example'] } })).status, 200)
    t.match(await read(), /^(000)?.*403/s)
    await two.run('touch /root/go; sleep 1')
    t.match(await two.run('cat /root/late'), 'cut')
    t.same(reached('/too-late'), [], 'what was open when it was allowed has ended')
    t.equal((await put(world, two, undefined)).status, 200)
    t.equal(
      await two.run('curl -sS -m 10 -o /dev/null -w "%{http_code}" http://evil.example/x'),
      '200',
      'cleared: all passes',
    )
    t.match(
      await two.run('ping -c 1 -W 1 203.0.113.10 >/dev/null 2>&1 && echo out || echo stays'),
      'stays',
      'but by the proxy only',
    )
    t.equal((await put(world, two, { proxy: { bypass: ['near.example'] } })).status, 200)
    t.match(await two.run('echo $no_proxy'), /,near\.example$/, 'its next process is told what passes by the proxy')
    await server.call('DELETE', '/v0/sandboxes/two')
  })

  await t.test('every decision can be read, and a list learnt from a record', async t => {
    const learner = await make(world, 'learner', { proxy: { mode: 'record', forbiddenDomains: ['evil.example'] } })
    const events = `/v0/sandboxes/learner/egress/events`
    const live = await fetch(new URL(`${events}?follow=true`, server.url), {
      headers: { authorization: `Bearer ${server.key}` },
    })
    t.match(await learner.run(`python3 -c ${quoted(slowRequest)} --password word-of-9`), /HTTP.1.1 200/)
    await learner.run('curl -sS -m 10 https://open.example/too')
    const first = (await server.call('GET', events)).body
    t.match(
      first.data.find(({ kind }: { kind: string }) => kind === 'request'),
      {
        verdict: 'would_block',
        reason: 'forbidden',
        rule: 'evil.example',
        host: 'evil.example',
        method: 'GET',
        path: '/seen',
      },
    )
    t.notMatch(JSON.stringify(first), /word-of-9/)
    if (runtime === 'runc')
      t.match(JSON.stringify(first), /python3 [^}]*--password \*\*\*"/, 'who asked, without the password')
    const reader = live.body?.getReader()
    const piece = new TextDecoder().decode((await reader?.read())?.value)
    t.match(piece, /^id: 1\ndata: \{/)
    await reader?.cancel()
    t.match((await server.call('GET', '/v0/sandboxes/learner/egress/learned')).body, {
      allowedDomains: ['evil.example', 'open.example'],
      complete: true,
    })
    const strict = { canaries: { bait: 'canary-value-1' }, canary: 'strict', forbiddenDomains: ['evil.example'] }
    await put(world, learner, { proxy: strict })
    await learner.run('curl -sSk -m 10 -d "x=canary-value-1" https://open.example/leak')
    const later = (await server.call('GET', `${events}?after=${first.next}`)).body.data
    t.match(
      later.find(({ kind }: { kind: string }) => kind === 'change'),
      { reason: 'closed', detail: 'mode enforce' },
    )
    t.match(
      later.find(({ kind }: { kind: string }) => kind === 'canary'),
      { detail: 'bait', host: 'open.example' },
    )
    t.notMatch(JSON.stringify(later), 'canary-value-1')
    await put(world, learner, undefined)
    const last = (await server.call('GET', `${events}?after=${first.next}`)).body.data.at(-1)
    t.match(last, { kind: 'change', reason: 'opened', detail: 'no longer forbidden: evil.example' })
    t.equal((await server.call('GET', '/v0/sandboxes/free/egress/events')).status, 404, 'nothing holds that one')
    await server.call('DELETE', '/v0/sandboxes/learner')
  })

  await t.test(
    'without the server, or while it stands still, nothing leaves, and with it again the same policy holds',
    async t => {
      const allowedDomains = ['open.example', '203.0.113.20:9100']
      const three = await make(world, 'three', { proxy: { allowedDomains } })
      const marker =
        'bash -c "echo while-down > /dev/udp/203.0.113.20/9100"; curl -s -m 3 http://open.example/while-down; curl -s -m 3 http://evil.example/while-down; curl -s -m 3 --noproxy "*" http://203.0.113.10/while-down'
      await three.run(`nohup sh -c 'for i in $(seq 40); do ${marker}; sleep 0.1; done' >/dev/null 2>&1 & echo`)
      const pid = await three.run('nohup sleep 1000 >/dev/null 2>&1 & echo $!')
      await until('what is allowed', async () =>
        ['cdn', 'udp'].every(one => reached('while-down').some(({ server }) => server === one)),
      )
      const held = server.pid() as number
      process.kill(held, 'SIGSTOP')
      // What was on its way has arrived.
      await new Promise(resolve => setTimeout(resolve, 200))
      world.log.entries.length = 0
      await new Promise(resolve => setTimeout(resolve, 1_000))
      t.same(reached('while-down'), [], 'nor while it stands still')
      process.kill(held, 'SIGCONT')
      await server.kill()
      await new Promise(resolve => setTimeout(resolve, 200))
      world.log.entries.length = 0
      await new Promise(resolve => setTimeout(resolve, 3_000))
      t.same(reached('while-down'), [], 'nothing passes while nobody decides')
      await server.start()
      const status = 'curl -sS -m 10 -o /dev/null -w "%{http_code}" http://open.example/again'
      t.equal(await three.run(status), '200')
      t.equal(await three.run(`kill -0 ${pid} && echo lives`), 'lives', 'the sandbox has not been restarted')
      t.match(await three.run('curl -sS -m 10 -i http://evil.example/again'), 'firewall_blocked')
      t.equal(reached('evil.example').length, 0)
      if (runtime === 'runc') {
        const [daemon] = shell(`ip netns pids ${namespaceOf(world, three)} | sort -n`).split('\n')
        process.kill(Number(daemon), 'SIGKILL')
        const which = () => three.run(`kill -0 ${pid} 2>/dev/null && echo old || echo new`)
        await until('another machine', async () => (await which()) === 'new')
        t.match(
          await three.run('curl -sS -m 10 -i http://evil.example/after'),
          'firewall_blocked',
          'without its daemon',
        )
        t.equal(await three.run(status), '200')
        t.equal(reached('evil.example').length, 0)
      }
      await server.call('DELETE', '/v0/sandboxes/three')
    },
  )

  for (const { name } of [held, free]) await server.call('DELETE', `/v0/sandboxes/${name}`)
}
