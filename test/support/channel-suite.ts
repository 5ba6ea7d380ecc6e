/** The channel in real sandboxes: what their root tries against it, and what goes through the gateway. */
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createChannelKeys } from '../../control/core/channel/keys.ts'
import { runtimeNames } from '../../control/drivers/oci/runtime.ts'
import { nonceBytes, provenBytes, writePreface } from '../../shared/channel.ts'
import { randomIds } from '../../shared/ids.ts'
import { forgedAnswers, knocks } from './gateway-suite.ts'
import { server, type Server } from './server.ts'
import { thorough } from './thorough.ts'
import { endingOfDaemon, nameOfBox, triesOfWalls } from './walls-suite.ts'

const program = (name: string) => readFileSync(new URL(`../programs/${name}`, import.meta.url), 'utf8')

interface Marker {
  readonly address: string
  readonly port: number
  readonly channel: { readonly port: number; readonly generation: string }
  readonly sealed: boolean
}

/**
 * Attempts that a runtime does not stop, by the beginnings of their names (docs/walls.md). gVisor lets root see and signal
 * PID 1 as any other process; and it is slow at opening connections.
 */
const notHeld: Readonly<Record<'runc' | 'runsc', readonly string[]>> = {
  runc: [],
  runsc: ['read-', 'list-', 'write-oom', 'signal-', 'descriptors-filled'],
}

const filesIn = (directory: string, recursive: boolean): string[] =>
  !existsSync(directory)
    ? []
    : readdirSync(directory, { recursive, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name))

/** What the host knows of the machines there are, with their keys. */
const machinesOf = ({ dataDir, names }: Server) => {
  const keys = createChannelKeys(readFileSync(join(dataDir, 'secret-key'), 'utf8'), randomIds())
  const dir = join(dataDir, 'machines')
  return readdirSync(dir).map(id => {
    const marker = JSON.parse(readFileSync(join(dir, id, 'machine.json'), 'utf8')) as Marker
    const key = keys.keyOf(id, marker.channel.generation)
    const sealKey = Buffer.from(keys.forStart(id).sealKey, 'base64url')
    const runtimes = runtimeNames.flatMap(name => filesIn(join(names.runDir, name), true))
    // What is below, and the disk, is the tenant's.
    const own = filesIn(join(dir, id), false).filter(path => !path.endsWith('.img'))
    return { ...marker, id, key, sealKey, files: [...own, ...runtimes] }
  })
}

type Machine = ReturnType<typeof machinesOf>[number]

/** Sends the bytes and returns all that comes until the other side closes, or has been silent for `quietMs`. */
const exchange = async (host: string, port: number, bytes: string | Buffer, quietMs = 1_500): Promise<string> => {
  const socket = connect(port, host)
  socket.on('error', () => {})
  let got = ''
  socket.setTimeout(quietMs, () => socket.destroy())
  socket.on('data', piece => (got += piece.toString('latin1')))
  socket.write(bytes)
  await once(socket, 'close')
  return got
}

const triesOfRoot = async (t: Test, tried: Record<string, unknown>, secrets: readonly string[], runtime: string) => {
  const { environ, cmdline, memory, descriptors, cores, forbidden, channel, preface } = tried as {
    environ: unknown
    cmdline: unknown
    memory: string[]
    descriptors: Record<string, string>
    cores: string[]
    forbidden: Record<string, string[]>
    channel: Record<string, { got: string }>
    preface: string
  }
  // gVisor does not ask whether a process may be traced before it shows these: they hold no secret.
  if (runtime === 'runc') {
    t.match(environ, { error: /EACCES|EPERM/ }, 'the environment cannot be read')
    t.same(descriptors, {}, 'no descriptor can be opened')
  }
  for (const secret of secrets)
    t.notOk(JSON.stringify([environ, cmdline, descriptors]).includes(secret), 'no secret is in them')
  t.same({ memory, cores }, { memory: [], cores: [] }, 'its memory cannot be read')
  for (const [name, { got }] of Object.entries(channel)) t.equal(got, '', `the channel says nothing, ${name}`)
  t.match(preface, /^HTTP\/1.1 400 /, 'a preface on the plain port is no request')
  for (const [form, answers] of Object.entries(forbidden))
    for (const answer of answers) {
      t.match(answer, /HTTP\/1.1 403 Forbidden[^]*this endpoint answers/, form)
      t.notMatch(answer, /keepAlive|mounts|applied/, form)
    }
}

const throughGateway = async (t: Test, s: Server, url: string) => {
  const { hostname, port, pathname } = new URL(url)
  const auth = `authorization: Bearer ${s.key}\r\n`
  const send = (text: string) => exchange(hostname, Number(port), text)
  const host = `host: ${hostname}:${port}\r\n`
  const kept = async () =>
    (await s.call('POST', `${url}/process`, { command: 'cat /tmp/kept; : > /tmp/kept', waitForCompletion: true })).body
      .stdout
  await s.call('POST', `${url}/process`, { command: 'exec python3 /root/listens.py 7000 /tmp/kept', name: 'listens' })
  await s.call('POST', `${url}/process`, {
    command: 'until python3 -c "import socket; socket.create_connection((\'127.0.0.1\', 7000))"; do sleep 0.1; done',
    waitForCompletion: true,
  })
  await kept()

  await t.test('an application sees who calls, and no proof or key', async t => {
    const forged = 'X-Svc-Subject-Id: root\r\nx_svc_auth_method: root\r\nX-Request-Id: forged\r\nX-Subject-Id: root\r\n'
    const answer = await send(
      `GET ${pathname}/port/7000/x HTTP/1.1\r\n${host}${auth}${forged}connection: close\r\n\r\n`,
    )
    t.match(answer, /^HTTP\/1.1 200 /)
    const seen = await kept()
    t.match(seen, /^GET \/x HTTP\/1.1\r\n/, 'nothing comes before the request')
    t.match(seen, /\r\nx-svc-subject-id: \S+\r\nx-svc-subject-type: user\r\nx-svc-auth-method: api_key\r\n/)
    t.match(seen, /\r\nx-request-id: [0-9a-f-]{36}\r\n/)
    t.notMatch(seen, /root|forged|hutch-channel|Bearer/)
    t.notOk(seen.includes(s.key))
  })

  await t.test('an upgrade passes on what comes after it only when it is agreed to', async t => {
    const upgrade = (path: string) =>
      `GET ${pathname}${path} HTTP/1.1\r\n${host}${auth}connection: upgrade\r\nupgrade: x\r\n\r\n`
    const second = `GET /second HTTP/1.1\r\nhost: x\r\n${auth}X-Svc-Subject-Id: root\r\n\r\n`
    t.match(await send(upgrade('/port/7000/agree') + second), /^HTTP\/1.1 101 [^]*\/second/)
    t.match(await kept(), /\/agree[^]*\/second/)
    t.match(await send(upgrade('/port/7000/refuse') + second), /^HTTP\/1.1 200 /)
    const seen = await kept()
    t.match(seen, /\/refuse/)
    t.notMatch(seen, /second|Bearer|root/)
    const daemon = await send(upgrade('/health') + second.replace('/second', '/process'))
    t.equal(daemon.match(/HTTP\/1.1 /g)?.length, 1, 'the daemon answers one request')
  })

  await t.test('a request within another gets no further than its client', async t => {
    const inner = 'GET /system/activity HTTP/1.1\r\nhost: x\r\n\r\n'
    const head = `POST ${pathname}/process HTTP/1.1\r\n${host}${auth}content-type: application/json\r\n`
    for (const [name, text] of Object.entries({
      'both lengths': `${head}content-length: ${inner.length + 5}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
      'two lengths': `${head}content-length: 0\r\ncontent-length: ${inner.length}\r\n\r\n${inner}`,
      'an odd coding': `${head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`,
      'one after another': `${head}content-length: 2\r\n\r\n{}GET ${pathname}/system/activity HTTP/1.1\r\n${host}${auth}\r\n`,
      'a line in a header': `GET ${pathname}/health HTTP/1.1\r\n${host}${auth}x: a\n\r\nGET /system/activity HTTP/1.1\r\n\r\n`,
    })) {
      const answer = await send(text)
      t.match(answer, /^HTTP\/1.1 [45]\d\d /, name)
      t.notMatch(answer, /keepAlive/, name)
    }
  })

  await t.test("the daemon's port is the plain path; the channel's is nobody's", async t => {
    t.equal((await s.call('GET', `${url}/port/8080/health`)).status, 200)
    t.equal((await s.call('GET', `${url}/port/8080/system/activity`)).status, 403)
    t.equal((await s.call('POST', `${url}/port/8080/environment/reload`)).status, 404, 'as by the plain path')
    t.equal((await s.call('POST', `${url}/environment/reload`)).status, 404, 'there is no document to read')
    t.match(await s.call('GET', `${url}/port/49151/health`), { status: 400, body: { error: { code: 'BAD_REQUEST' } } })
    t.match(
      await send(`GET ${pathname}/port/49151/ HTTP/1.1\r\n${host}${auth}connection: upgrade\r\nupgrade: x\r\n\r\n`),
      /^HTTP\/1.1 400 /,
    )
  })
}

const activity = Buffer.from('GET /system/activity HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')

/** What comes after the nonce for the bytes that `answer` makes of it. */
const afterNonce = async ({ address, channel }: Machine, answer: (nonce: Buffer) => Buffer): Promise<string> => {
  const socket = connect(channel.port, address).on('error', () => {})
  let got = ''
  socket.once('data', (nonce: Buffer) => {
    if (nonce.length !== nonceBytes) return void socket.destroy(new Error('no daemon answers there'))
    socket.on('data', piece => (got += piece.toString('latin1')))
    socket.write(answer(nonce))
  })
  await once(socket, 'close')
  return got
}

/** The bytes by which who has the key of one machine says that it is the host of the machine of that name. */
const proves =
  ({ key }: Machine, name: string) =>
  (nonce: Buffer) => {
    const proof = createHmac('sha256', key)
      .update(provenBytes(nonce, 'host', name))
      .digest()
    return Buffer.concat([writePreface('host', proof), activity])
  }

const oneAtAnother = async (t: Test, machine: Machine, other: Machine) => {
  let heard = Buffer.alloc(0)
  const own = await afterNonce(machine, nonce => (heard = proves(machine, machine.id)(nonce)))
  t.match(own, /^HTTP\/1.1 200 [^]*keepAlive/, 'the key opens its own machine')
  t.equal(await afterNonce(other, proves(machine, machine.id)), '', 'and no other by its own name')
  t.equal(await afterNonce(other, proves(machine, other.id)), '', 'nor by the name of the other')
  t.equal(await afterNonce(machine, proves(machine, other.id)), '', 'nor its own by another name')
  t.equal(await afterNonce(other, () => heard), '', 'what was heard at one is of no use at the other')
  t.equal(await afterNonce(machine, () => heard), '', 'nor at the same again')
}

/** All of it in sandboxes of `runtime`. */
export const channelSuite = async (t: Test, runtime: 'runc' | 'runsc'): Promise<void> => {
  const named = ['unshare', '-u', 'sh', '-c', `hostname ${nameOfBox}; exec "$@"`, 'sh']
  const env = { HUTCH_RUNTIME: runtime, HUTCH_STANDBY_SECONDS: '3600', HUTCH_HOST: '0.0.0.0' }
  const s = await server(t, env, named)
  const secret = 'secret-of-the-spec'
  const make = async (name: string): Promise<string> => {
    const envs = [{ name: 'TOP', value: secret, secret: true }]
    const spec = { runtime: { image: 'svc/base-image:latest', memory: 512, envs } }
    return (await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })).body.metadata.url
  }
  const url = await make('a')
  const run = async (command: string, at = url): Promise<string> => {
    const body = { command, waitForCompletion: true, timeout: 120 }
    for (;;) {
      const { status, text, body: answer } = await s.call('POST', `${at}/process`, body)
      if (status === 200) return answer.stdout
      // On gVisor a busy box may take longer for a start than the daemon waits; nothing was started then.
      t.match({ runtime, text }, { runtime: 'runsc', text: /ETIMEDOUT/ }, 'it was too slow')
    }
  }
  t.equal(await run('printf %s "$TOP"'), secret)
  const [machine] = machinesOf(s)
  if (!machine) throw new Error('there is no machine')
  const { address, port, channel, key, sealKey, id } = machine
  const secrets = [key, sealKey].flatMap(one => [one.toString('base64url'), one.toString('hex')])
  const kept = machine.files.map(path => readFileSync(path, 'latin1'))
  t.ok(
    kept.some(text => text.includes(address)),
    'its marker is among them',
  )
  for (const one of [secret, ...secrets])
    t.notOk(
      kept.some(text => text.includes(one)),
      'it is in no file of the host',
    )
  t.equal(
    machine.sealed,
    runtime === 'runsc',
    'without a place of its own its daemon seals what it keeps, from its first start on',
  )
  for (const name of ['channel.py', 'listens.py', 'endings.py', 'walls.py', 'forged.py', 'knocks.py'])
    await s.call('PUT', `${url}/filesystem/%2Froot%2F${name}`, { content: program(name) })

  await t.test('root of the sandbox gets nothing', async t => {
    const tried = await run(`python3 /root/channel.py ${port} ${channel.port} ${address}`)
    await triesOfRoot(t, JSON.parse(tried), [secret, ...secrets], runtime)
  })

  await t.test('root of the sandbox neither ends, starves nor steers the daemon', async t => {
    const { startedAt } = (await s.call('GET', `${url}/health`)).body
    const { tried, worked } = JSON.parse(await run(`python3 /root/endings.py ${port} ${notHeld[runtime].join(' ')}`))
    t.ok(tried > 120, `${tried} attempts`)
    t.same(worked, [])
    t.match((await s.call('GET', `${url}/health`)).body, { status: 'ok', startedAt }, 'it is the one that was there')
  })

  await triesOfWalls(t, s, run, runtime)

  await t.test('silent connections keep nobody out', async t => {
    const flood = `exec python3 -c 'import socket, time
held = []
for i in range(20000):
    try: held.append(socket.create_connection(("127.0.0.1", ${channel.port}), 1))
    except OSError: pass
    if i % 500 == 0: held = []
'`
    await s.call('POST', `${url}/process`, { command: flood, name: 'flood' })
    for (let i = 0; i < 50; i++) t.equal((await s.call('GET', `${url}/health`)).status, 200)
    await s.call('DELETE', `${url}/process/flood/kill`)
  })

  // What the gateway does with what comes from inside is the same wherever that runs, and slow on gVisor.
  const isWhole = runtime === 'runc' || thorough
  if (isWhole) await throughGateway(t, s, url)

  await t.test('a neighbour, and a user of the box, are not trusted more', async t => {
    const neighbour = await make('b')
    const knock = `import socket
for port in (${port}, ${channel.port}):
    try: socket.create_connection(("${address}", port), 2); print("in")
    except OSError: print("out")`
    t.equal(await run(`python3 -c '${knock}'`, neighbour), 'out\nout\n')
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
    t.match(await exchange(address, port, get('/health')), /^HTTP\/1.1 200 /)
    t.match(await exchange(address, port, get('/system/activity')), /^HTTP\/1.1 403 /)
    const nonce = await exchange(address, channel.port, get('/health'))
    t.equal(nonce.length, 32, 'the nonce, and no word more')
    // The key of one machine at the other, and the other's own name with it.
    const [, other] = machinesOf(s).toSorted(one => (one.id === id ? -1 : 1))
    if (!other) throw new Error('there is no neighbour')
    t.notOk(other.key.equals(key))
    await oneAtAnother(t, machine, other)
  })

  await t.test('nobody behind the gateway lies to it or to its clients, or reaches the host beside it', async t => {
    const other = machinesOf(s).find(one => one.id !== id)
    if (!other) throw new Error('there is no neighbour')
    const doors = [other.port, other.channel.port]
    const forged = isWhole ? await forgedAnswers(t, s, url, run) : 0
    const knocked = await knocks(t, s, run, { address: other.address, doors })
    t.ok(forged + knocked >= (isWhole ? 60 : 40), `${forged} and ${knocked} attempts`)
  })

  const labelled = async (labels: object) =>
    t.equal((await s.call('PUT', '/v0/sandboxes/a', { metadata: { labels }, spec: {} })).status, 200)
  const identity = async (at = url) => (await s.call('GET', `${at}/host/identity`)).body

  await t.test('its daemon knows whose it is, as the record says by now', async t => {
    const { workspaceId } = await identity()
    t.same(await identity(), { name: 'a', workspace: 'default', workspaceId, labels: {}, user: '' })
    await labelled({ stage: 'one' })
    t.match(await identity(), { labels: { stage: 'one' } })
    t.match(await run('curl -s localhost:8080/host/identity'), /through the gateway only/)
    t.equal(await run('printf %s "$TOP"'), secret, 'its environment is as it was')
  })

  await t.test('after a crash of the host everything goes on', async t => {
    await s.kill()
    await s.start()
    const again = url.replace(new URL(url).host, new URL(s.url).host)
    t.equal((await s.call('GET', `${again}/health`)).status, 200)
    t.equal((await s.call('GET', `${again}/drives/mount`)).status, 200, "a client's endpoint")
    await labelled({ stage: 'two' })
    t.match(await identity(again), { labels: { stage: 'two' } })
    t.equal(await run('printf %s "$TOP"', again), secret)
  })

  const now = url.replace(new URL(url).host, new URL(s.url).host)
  if (runtime === 'runsc') await endingOfDaemon(t, s, now, command => run(command, now))
}
