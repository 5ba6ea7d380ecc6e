/**
 * Random input for what reads bytes of strangers: the receiver of bodies (C), the reader of tar archives, and the host's parsers
 * (parsers.ts). Arguments: a seed and a number of rounds. Run by native.ts with the addons under
 * AddressSanitizer; a failure names the seed of its round.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tarEntries } from '../../daemon/filesystem/archive/tar/read.ts'
import { transfer } from '../../daemon/native/receive/receive.ts'
import { random, type Random } from '../support/random.ts'
import { cut, mutated, refused } from './mutate.ts'
import { heads, layers, questions, requests, tarOf } from './parsers.ts'

const [firstSeed = 1, rounds = 300] = process.argv.slice(2).map(Number)
const work = mkdtempSync(join(tmpdir(), 'hutch-fuzz-'))

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

/** Any archive ends, or is refused: nothing hangs, nothing else is thrown. */
const archives = async (chance: Random): Promise<void> => {
  const pieces = cut(chance, mutated(chance, tarOf(chance)))
  async function* source() {
    yield* pieces
  }
  try {
    for await (const entry of tarEntries(source()))
      for (const { length } of entry.spans)
        for (let done = 0; done < length; ) done += (await entry.read(length - done)).length
  } catch (error) {
    refused(error)
  }
}

const all = { receiver, archives, layers, questions, requests, heads }
try {
  for (let round = 0; round < rounds; round++) {
    const seed = firstSeed + round
    for (const [name, run] of Object.entries(all))
      try {
        await run(random(seed))
      } catch (error) {
        throw new Error(`${name}, seed ${seed}`, { cause: error })
      }
  }
  process.stdout.write(`fuzz: ${rounds} rounds of ${Object.keys(all).join(', ')} from seed ${firstSeed}: all well\n`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
