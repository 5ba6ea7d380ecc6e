/** The gateway, from behind it: an application that forges its answers, and root who knocks at the host's doors. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, connect, type AddressInfo } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import type { Test } from 'tap'
import type { Server } from './server.ts'

type Run = (command: string) => Promise<string>

/** Sends it all at once; what came until the other side closed, or was silent for some seconds. */
const exchange = async (url: string, text: string): Promise<string> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  let got = ''
  socket.setTimeout(4_000, () => socket.destroy())
  socket.on('data', piece => (got += piece.toString('latin1')))
  socket.write(text)
  await once(socket, 'close')
  return got
}

interface Reply {
  readonly status: string
  readonly head: string
  readonly body: string
}

/** The body in chunks at the front of `text`, and what follows it; undefined for a body that is cut off or is none. */
const unchunked = (text: string): { body: string; rest: string } | undefined => {
  let body = ''
  for (let rest = text; ; ) {
    const size = /^([0-9a-f]+)\r\n/i.exec(rest)
    if (!size) return undefined
    const [line, digits = ''] = size
    const length = Number.parseInt(digits, 16)
    if (length === 0) return rest.startsWith(`${line}\r\n`) ? { body, rest: rest.slice(line.length + 2) } : undefined
    body += rest.slice(line.length, line.length + length)
    rest = rest.slice(line.length + length + 2)
  }
}

/** The answers in `text`, as who keeps to RFC 9112 reads them; what is no answer is the last one's body. */
const repliesIn = (text: string): Reply[] => {
  const replies: Reply[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [, status = ''] = /^HTTP\/1\.1 (\d{3}) /.exec(rest) ?? []
    if (end < 0 || status === '') return [...replies, { status: '', head: '', body: rest }]
    const head = rest.slice(0, end)
    rest = rest.slice(end + 4)
    const length = /^content-length: (\d+)$/im.exec(head)?.[1]
    const chunked = /^transfer-encoding: chunked$/im.test(head) ? unchunked(rest) : undefined
    let taken = /^(1..|204|304)$/.test(status) ? 0 : Number(length ?? rest.length)
    if (chunked) taken = rest.length - chunked.rest.length
    replies.push({ status, head, body: chunked?.body ?? rest.slice(0, taken) })
    rest = rest.slice(taken)
  }
  return replies
}

/** Each forged answer, with another request behind it on the client's connection, beside all the others and then once more by itself. */
export const forgedAnswers = async (t: Test, s: Server, url: string, run: Run): Promise<number> => {
  const { host, pathname } = new URL(url)
  const at = `${url}/port/7001`
  await s.call('POST', `${url}/process`, { command: 'exec python3 /root/forged.py 7001 /tmp/seen', name: 'forged' })
  let listed = await s.call('GET', `${at}/`)
  for (let turn = 0; turn < 300 && listed.status === 502; turn++) {
    await new Promise(resolve => setTimeout(resolve, 100))
    listed = await s.call('GET', `${at}/`)
  }
  const names = JSON.parse(listed.text) as string[]
  const asks = (path: string, connection: string) =>
    `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${s.key}\r\nconnection: ${connection}\r\n\r\n`
  const attempt = async (name: string) => {
    const one = asks(`${pathname}/port/7001/${name}`, 'keep-alive')
    const [text, own] = await Promise.all([
      exchange(url, one + asks(`${pathname}/port/7001/clean?${name}`, 'close')),
      s.call('GET', `${at}/clean?own-${name}`),
    ])
    const [first, ...others] = repliesIn(text).filter(({ status }) => !status.startsWith('1'))
    const said = text.slice(0, 1_000)
    t.match(others.map(({ body }) => body).join(''), new RegExp(`^(clean ${name})?$`), `${name}: ${said}`)
    t.ok(others.length < 2, `${name}: not more answers than requests: ${said}`)
    t.notMatch([first, ...others].map(reply => reply?.head).join('\r\n'), /x-second/i, `${name}: ${said}`)
    const ours =
      /^x-svc-|hutch_access|^(clear-site-data|strict-transport|alt-svc|nel|report-to|service-worker-allowed):/im
    if (/^x-svc-source: platform/im.test(first?.head ?? ''))
      t.match(first, { status: '502', body: /"UPSTREAM_FAILED"/ }, name)
    else t.notMatch(first?.head ?? '', ours, name)
    t.equal(own.text, `clean own-${name}`, `${name} harms nobody beside it`)
  }
  /** What comes while nobody has asked, on the connection that the next one would be sent on. */
  const late = async (name: string) => {
    for (let turn = 0; turn < 3; turn++) {
      await s.call('GET', `${at}/${name}`)
      await new Promise(resolve => setTimeout(resolve, 300))
      t.equal((await s.call('GET', `${at}/clean?${name}`)).text, `clean ${name}`)
    }
  }
  const isLate = (name: string) => name.startsWith('late')
  await Promise.all(names.filter(name => !isLate(name)).map(attempt))
  for (const name of names.filter(isLate)) await late(name)
  t.equal((await s.call('GET', '/v0/sandboxes/a')).body.metadata?.name, 'a')
  const seen = await run('cat /tmp/seen')
  t.match(seen, /^GET \/late /m)
  t.notOk(seen.includes(s.key), 'and no request came with the key')
  await s.call('DELETE', `${url}/process/forged/kill`)
  return names.length
}

/** Listens on every address of the box, and keeps what comes. */
const listening = async (t: Test) => {
  const heard: string[] = []
  const tcp = createServer(socket => {
    heard.push(`tcp from ${socket.remoteAddress}`)
    socket.destroy()
  }).listen(0, '0.0.0.0')
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket('udp4', (message, { address }) => heard.push(`${message.toString()} from ${address}`))
  udp.bind(port, '0.0.0.0')
  await once(udp, 'listening')
  t.teardown(() => {
    tcp.close()
    udp.close()
  })
  return { heard, port, udp }
}

const addressesHere = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .filter(({ family, address }) => family === 'IPv4' && !address.startsWith('127.'))
    .map(({ address }) => address)

/** Root of `a` knocks at the box and at the neighbour. */
export const knocks = async (
  t: Test,
  s: Server,
  run: Run,
  neighbour: { address: string; doors: number[] },
): Promise<number> => {
  const { heard, port, udp } = await listening(t)
  const addresses = addressesHere().slice(0, 12)
  const api = Number(new URL(s.url).port)
  const names = [
    hostname(),
    'sbx-b-default.local',
    'sbx-b-default.local.localhost',
    'b',
    'host.docker.internal',
    '_gateway',
    'metadata.google.internal',
  ]
  const asked = { ports: [api, port], addresses, names, neighbour: neighbour.address, doors: neighbour.doors }
  const { tried, reached } = JSON.parse(await run(`python3 /root/knocks.py knock '${JSON.stringify(asked)}'`))
  t.same(reached, [], 'nobody answers')
  t.same(heard, [], 'and nothing arrives')
  // The box itself reaches all of it, but for addresses of other tests' machines that went meanwhile.
  const here = addressesHere()
  const last = addresses.findLast(address => here.includes(address)) ?? ''
  t.equal((await fetch(`http://${last}:${api}/v0/sandboxes`)).status, 401)
  udp.send('knock', port, last)
  await once(udp, 'message')
  t.match(heard, [/^knock from /])
  return tried
}
