/**
 * Random input for what reads bytes of strangers: the receiver of bodies (C), the reader of tar archives, and the parsers
 * of heads that the outbound proxy has. Arguments: a seed and a number of rounds. Run by native.ts with the addons under
 * AddressSanitizer; a failure names the seed of its round.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ResponseReader } from '../../control/egress/http/response-reader.ts'
import { maxHello, parseClientHello } from '../../control/egress/tls/client-hello.ts'
import { tarEntries } from '../../daemon/filesystem/archive/tar/read.ts'
import { transfer } from '../../daemon/native/receive/receive.ts'
import { random, type Random } from '../support/random.ts'
import { encodeHeader } from '../support/tar-header.ts'

const [firstSeed = 1, rounds = 300] = process.argv.slice(2).map(Number)
const work = mkdtempSync(join(tmpdir(), 'hutch-fuzz-'))

/** A few changes anywhere: bytes, pieces left out, repeated or put in. */
const mutated = (chance: Random, source: Buffer): Buffer => {
  let bytes = Buffer.from(source)
  for (let changes = chance.below(6); changes > 0 && bytes.length > 0; changes--) {
    const at = chance.below(bytes.length)
    const to = Math.min(bytes.length, at + chance.below(64))
    const pieces = chance.pick([
      [bytes.subarray(0, at), chance.bytes(1 + chance.below(8)), bytes.subarray(to)],
      [bytes.subarray(0, at), bytes.subarray(to)],
      [bytes.subarray(0, to), bytes.subarray(at)],
      [bytes.subarray(0, at)],
    ])
    bytes = Buffer.concat(pieces)
  }
  return bytes
}

const cut = (chance: Random, bytes: Buffer): Buffer[] => {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + chance.below(chance.pick([2, 100, 5_000, 100_000]))
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}

/** A body over a socket into a file: what is there afterwards is what was sent, whatever the pieces. */
const receiver = async (chance: Random): Promise<void> => {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  near.on('error', () => {
    // The other end may be gone first.
  })
  const [[far]] = await Promise.all([once(server, 'connection'), once(near, 'connect')])
  const path = join(work, 'file')
  const file = openSync(path, 'w')
  const boundary = Buffer.from('\r\n--boundary')
  const isForm = chance.below(2) === 0
  const content = Buffer.concat([mutated(chance, chance.bytes(chance.below(200_000))), Buffer.from('.')])
  const body = isForm ? Buffer.concat([content, boundary, Buffer.from('--\r\n')]) : content
  const until = isForm ? body.indexOf(boundary) : -1
  const expected = until < 0 ? body : body.subarray(0, until)
  // At least one byte is still on its way.
  const ahead = body.subarray(0, chance.below(Math.min(body.length, 70_000)))
  try {
    const hashing = chance.below(2) === 0
    const left = body.length - ahead.length
    const one = transfer({ socket: far._handle.fd, left, ahead, delimiter: isForm ? boundary : undefined, hashing })
    if (!one) throw new Error('there is no receiver')
    const sending = (async () => {
      for (const piece of cut(chance, body.subarray(ahead.length))) if (!near.write(piece)) await once(near, 'drain')
    })()
    let written = 0
    for (let full = true; full; ) {
      const ran = await one.run(file, written, 1 + chance.below(chance.pick([10, 10_000, 1_000_000])))
      written += ran.written
      full = ran.outcome === 'full'
    }
    const digest = hashing ? one.digest() : undefined
    one.finish()
    far.resume()
    await sending
    if (!readFileSync(path).equals(expected)) throw new Error(`${written} of ${expected.length} bytes, or other ones`)
    if (digest !== undefined && digest !== createHash('md5').update(expected).digest('hex')) throw new Error('its MD5')
  } finally {
    near.destroy()
    far.destroy()
    server.close()
    closeSync(file)
  }
}

const headerOf = (chance: Random, size: number) =>
  encodeHeader({
    name: chance.pick(['f', 'a/b/c', '../../x', '/etc/passwd', 'x'.repeat(99)]),
    mode: 0o644,
    uid: 0,
    gid: 0,
    size,
    mtime: 1,
    type: chance.pick(['0', '1', '2', '5', 'L', 'K', 'x', 'g', 'S', '7']),
    linkname: chance.pick(['', '..', '/etc']),
  })

/** Any archive ends, or is refused: nothing hangs, nothing else is thrown. */
const archives = async (chance: Random): Promise<void> => {
  const parts: Buffer[] = []
  for (let entries = 1 + chance.below(4); entries > 0; entries--) {
    const content = chance.below(2)
      ? chance.bytes(chance.below(2_000))
      : Buffer.from('30 path=aaaaaaaaaaaaaaaaaaaaaa\n')
    parts.push(headerOf(chance, content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512))
  }
  const pieces = cut(chance, mutated(chance, Buffer.concat([...parts, Buffer.alloc(1024)])))
  async function* source() {
    yield* pieces
  }
  try {
    for await (const entry of tarEntries(source()))
      for (const { length } of entry.spans)
        for (let done = 0; done < length; ) done += (await entry.read(length - done)).length
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw error
  }
}

const response =
  'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\ntrailer: x\r\n\r\n'
const hello = Buffer.from(
  '16030100640100006003030000000000000000000000000000000000000000000000000000000000000000000002130101000035' +
    '0000000f000d00000a612e6578616d706c65002b0003020304000d000400020403000a00040002001d00100005000302683200000000',
  'hex',
)

/** Heads of answers and of TLS connections: understood or refused. */
const heads = async (chance: Random): Promise<void> => {
  const reader = new ResponseReader()
  const nothing = () => {}
  try {
    reader.expect({ head: nothing, data: nothing, end: nothing }, chance.below(4) === 0)
    for (const piece of cut(chance, mutated(chance, Buffer.from(response)))) reader.feed(piece)
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw error
  }
  const bytes = mutated(chance, hello)
  for (let length = 0; length <= Math.min(bytes.length, maxHello); length += 1 + chance.below(9))
    parseClientHello(bytes.subarray(0, length))
}

try {
  for (let round = 0; round < rounds; round++) {
    const seed = firstSeed + round
    for (const [name, run] of Object.entries({ receiver, archives, heads }))
      await run(random(seed)).catch((error: unknown) => {
        throw new Error(`${name}, seed ${seed}`, { cause: error })
      })
  }
  process.stdout.write(`fuzz: ${rounds} rounds of receiver, archives and heads from seed ${firstSeed}: all well\n`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
