/**
 * Random input for what reads bytes of strangers on the host: layers of images, questions of the name service, heads of requests and of
 * connections. Each is understood or refused, the same way whatever the pieces it comes in.
 */
import packet, { type DecodedPacket } from 'dns-packet'
import { ResponseReader } from '../../control/network/egress/http/response-reader.ts'
import { classify } from '../../control/network/egress/classify.ts'
import { reply } from '../../control/network/egress/dns/reply.ts'
import { headerNames } from '../../control/network/egress/http/names.ts'
import { readingsOf, readRequest } from '../../control/network/egress/http/request.ts'
import { parseAbsolute } from '../../control/network/egress/http/target.ts'
import { maxHello, parseClientHello } from '../../control/network/egress/tls/client-hello.ts'
import { readEntries } from '../../control/core/images/pull/entries.ts'
import { readPreface, writePreface } from '../../shared/channel.ts'
import { canonicalHost } from '../../shared/policy/host.ts'
import { parseWireNames, wireNames } from '../../shared/wire-names.ts'
import type { Random } from '../support/random.ts'
import { encodeHeader } from '../support/tar-header.ts'
import { cut, mutated, refused } from './mutate.ts'

const wrong = (what: string, ...seen: unknown[]) => new Error(`${what}: ${JSON.stringify(seen).slice(0, 2_000)}`)

export const tarHeader = (chance: Random, size: number): Buffer =>
  encodeHeader({
    name: chance.pick(['f', 'a/b/c', '../../x', '/etc/passwd', 'dir/', 'x'.repeat(99)]),
    mode: 0o644,
    uid: 0,
    gid: 0,
    size,
    mtime: 1,
    type: chance.pick(['0', '1', '2', '5', 'L', 'K', 'x', 'g', 'S', '7']),
    linkname: chance.pick(['', '..', '/etc']),
  })

/** Some entries, of which some have what an extended header has as content. */
export const tarOf = (chance: Random): Buffer => {
  const parts: Buffer[] = []
  for (let entries = 1 + chance.below(4); entries > 0; entries--) {
    const record = chance.pick([
      '30 path=aaaaaaaaaaaaaaaaaaaaaa\n',
      '12 size=512\n',
      '10 path=b/\n',
      '20 GNU.sparse.a=1\n\n',
    ])
    const content = chance.below(2) ? chance.bytes(chance.below(2_000)) : Buffer.from(record)
    parts.push(tarHeader(chance, content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512))
  }
  return Buffer.concat([...parts, Buffer.alloc(1024)])
}

const entriesIn = (pieces: readonly Buffer[]): string => {
  const seen: unknown[] = []
  try {
    const reader = readEntries(entry => seen.push(entry))
    for (const piece of pieces) reader.feed(piece)
    reader.end()
  } catch (error) {
    seen.push(refused(error))
  }
  return JSON.stringify(seen)
}

export const layers = (chance: Random): void => {
  const archive = chance.below(3) ? mutated(chance, tarOf(chance)) : tarOf(chance)
  const [whole, parts] = [entriesIn([archive]), entriesIn(cut(chance, archive))]
  if (whole !== parts) throw wrong('a layer is another one in pieces', whole, parts)
}

const decoded = (bytes: Buffer): DecodedPacket | undefined => {
  try {
    return packet.decode(bytes)
  } catch {
    // Its refusals are errors of any kind.
    return undefined
  }
}

/** What can be read can be answered, and the answer be read. */
export const questions = (chance: Random): void => {
  const type = chance.pick(['A', 'AAAA', 'HTTPS', 'TXT', 'ANY'])
  const name = chance.pick(['example.com', 'a.b.c.example', '127.1', '0x7f.1', 'xn--bcher-kva.example'])
  const additionals = chance.below(2) ? [{ type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0, options: [] }] : []
  const asked = packet.encode({
    type: 'query',
    id: chance.below(65_536),
    questions: [{ type: type as 'A', name }],
    additionals: additionals as never,
  })
  const message = decoded(mutated(chance, asked))
  if (message?.type !== 'query') return
  const host = canonicalHost(message.questions?.[0]?.name ?? '')
  if (host !== undefined && canonicalHost(host) !== host) throw wrong('a name has two spellings', host)
  // oxlint-disable-next-line no-control-regex
  if (!/^[\x21-\x7e]*$/.test(message.questions?.[0]?.name ?? '')) return
  const said = decoded(reply(message, { rcode: 'NOERROR', addresses: ['192.0.2.1'], ttlMs: 1_000, extended: 15 }))
  if (said?.id !== message.id) throw wrong('an answer that cannot be read', message.questions)
}

const request =
  'POST http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nTE: trailers\r\nConnection: close, X-One\r\nX-One: 1\r\nX-Original-URL: /z\r\nUpgrade: websocket\r\n\r\n'

const names = headerNames(wireNames(parseWireNames(undefined, 'names')))

export const requests = (chance: Random): void => {
  const bytes = mutated(chance, Buffer.from(request))
  let known: string | undefined
  for (let length = 1; length <= bytes.length; length++) {
    const found = classify(bytes.subarray(0, length))
    if (known !== undefined && known !== found) throw wrong('a connection changes its protocol', known, found, length)
    if (found !== 'more') known = found
  }
  const [line = '', ...lines] = bytes.toString('latin1').split('\r\n')
  const [method = '', target = ''] = line.split(' ')
  const raw = lines.flatMap(one => [one.split(':', 1)[0] ?? '', one.slice(one.indexOf(':') + 1).trim()])
  const read = readRequest(raw, names)
  if (typeof read !== 'string') readingsOf(method, target, read)
  const { host } = parseAbsolute(target) ?? {}
  if (host !== undefined && canonicalHost(host) !== host) throw wrong('a host has two spellings', host)
  const preface = readPreface(mutated(chance, writePreface(chance.pick(['client', 'host']), chance.bytes(32))))
  if (preface && preface.proof.length !== 32) throw wrong('a proof of another length')
}

const response =
  'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\ntrailer: x\r\n\r\n'
const hello = Buffer.from(
  '16030100640100006003030000000000000000000000000000000000000000000000000000000000000000000002130101000035' +
    '0000000f000d00000a612e6578616d706c65002b0003020304000d000400020403000a00040002001d00100005000302683200000000',
  'hex',
)

/** Heads of answers and of TLS connections. */
export const heads = (chance: Random): void => {
  const reader = new ResponseReader()
  const nothing = () => {}
  try {
    reader.expect({ head: nothing, data: nothing, end: nothing }, chance.below(4) === 0)
    for (const piece of cut(chance, mutated(chance, Buffer.from(response)))) reader.feed(piece)
  } catch (error) {
    refused(error)
  }
  const bytes = mutated(chance, hello)
  for (let length = 0; length <= Math.min(bytes.length, maxHello); length += 1 + chance.below(9))
    parseClientHello(bytes.subarray(0, length))
}
