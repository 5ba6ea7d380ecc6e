/** The real program, killed while parts come in. */
import { createHash, randomBytes } from 'node:crypto'
import { globSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { realDaemon, type RealDaemon } from '../../support/real-daemon.ts'
import { until } from '../../support/until.ts'

const size = 3_000_000
const head = '--XyZ\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
const type = { 'content-type': 'multipart/form-data; boundary=XyZ' }
const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

const ask = async ({ url }: RealDaemon, method: string, path: string, body?: unknown) => {
  const answer = await fetch(`${url}/filesystem-multipart${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // Untyped on purpose: single fields are looked at.
  // oxlint-disable-next-line typescript/no-explicit-any
  return { status: answer.status, body: (await answer.json()) as any }
}

const put = async ({ url }: RealDaemon, id: string, number: number, bytes: Buffer) => {
  const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--XyZ--\r\n')])
  const answer = await fetch(`${url}/filesystem-multipart/${id}/part?partNumber=${number}`, {
    method: 'PUT',
    headers: type,
    body: new Uint8Array(body),
  })
  return answer.status
}

/** Sends the first half of a part and no more. */
const begin = ({ url }: RealDaemon, id: string, number: number, bytes: Buffer): void => {
  const sent = request(`${url}/filesystem-multipart/${id}/part?partNumber=${number}`, { method: 'PUT', headers: type })
  sent.on('error', () => {
    // The daemon is killed below it.
  })
  sent.write(head)
  sent.write(bytes.subarray(0, size / 2))
}

/** Bytes of what is kept of an upload. */
const stored = (dir: string): number =>
  globSync(join(dir, '**/multipart-uploads/*/*')).reduce((sum, path) => sum + statSync(path).size, 0)

t.test('kill -9 in the middle of parts: whole ones count, half ones do not', async t => {
  const first = await realDaemon(t)
  const path = join(first.dir, 'work/whole.bin')
  const pieces = [1, 2, 3].map(() => randomBytes(size))
  const [one, two, three] = pieces as [Buffer, Buffer, Buffer]
  const { uploadId: id } = (await ask(first, 'POST', `/initiate${encodeURIComponent(path)}`)).body
  t.equal(await put(first, id, 1, randomBytes(size)), 200)
  t.equal(await put(first, id, 1, one), 200, 'sent again')
  t.equal(await put(first, id, 2, two), 200)
  const before = stored(first.dir)
  // A new part, and one in the place of a part that is there.
  begin(first, id, 3, three)
  begin(first, id, 2, randomBytes(size))
  await until(async () => stored(first.dir) >= before + 2 * (1024 * 1024), 'both to be written')
  await first.kill()

  const second = await first.next()
  const { parts } = (await ask(second, 'GET', `/${id}/parts`)).body
  t.same(
    parts.map((part: { partNumber: number; etag: string; size: number }) => [part.partNumber, part.etag, part.size]),
    [
      [1, md5(one), size],
      [2, md5(two), size],
    ],
  )
  const [store] = globSync(join(first.dir, '**/multipart-uploads', id))
  t.notOk(
    readdirSync(store as string).some(name => name.startsWith('incoming-')),
    'what was on its way is gone',
  )
  const all = pieces.map((piece, index) => ({ partNumber: index + 1, etag: md5(piece) }))
  t.equal((await ask(second, 'POST', `/${id}/complete`, { parts: all })).status, 500, 'the third is not there')
  t.equal(await put(second, id, 3, three), 200)
  t.equal((await ask(second, 'POST', `/${id}/complete`, { parts: all })).status, 200)
  t.equal(md5(readFileSync(path)), md5(Buffer.concat(pieces)))
})
