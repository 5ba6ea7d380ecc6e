/** Uploads that go past the streams, from the socket into the file, and what is left of the connection behind them. */
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { readForm } from '../../../../daemon/filesystem/transfer/form.ts'
import { createBodyDetacher } from '../../../../daemon/node-internals/detach-body.ts'
import { receiveContent } from '../../../../daemon/filesystem/transfer/receive-content.ts'
import { listen } from '../../../../shared/http/listen.ts'
import { toRequest } from '../../../../shared/http/request.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { serveByLane } from '../../../../shared/lane/serve.ts'
import { silentLog } from '../../../../shared/log.ts'
import { daemon, daemonServer } from '../../../support/daemon.ts'
import { draftsIn } from '../../../support/drafts.ts'
import { raw, type Raw } from '../../../support/raw.ts'
import { smallDisk } from '../../../support/small-disk.ts'
import { until } from '../../../support/until.ts'

const detacher = createBodyDetacher(true)
const run = promisify(execFile)
const MiB = 1024 * 1024
const boundary = '----formdata-0123456789'
const type = `multipart/form-data; boundary=${boundary}`

const part = (name: string, filename: string | undefined, content: Buffer | string): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename ? `; filename="${filename}"` : ''}\r\n\r\n`,
    ),
    Buffer.from(content as string),
    Buffer.from('\r\n'),
  ])
const form = (...parts: Buffer[]): Buffer => Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
const head = (method: string, path: string, headers: Record<string, string | number>): string =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
const putForm = (path: string, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(head('PUT', path, { 'content-type': type, 'content-length': body.length })), body])
const putRaw = (path: string, body: Buffer, headers: Record<string, string> = {}): Buffer =>
  Buffer.concat([
    Buffer.from(
      head('PUT', path, { 'content-type': 'application/octet-stream', 'content-length': body.length, ...headers }),
    ),
    body,
  ])
/** Waits for so many answers in all, 100 not counted. */
const answered = (one: Raw, count: number) =>
  until(async () => (one.text().match(/HTTP\/1.1 [2-5]/g)?.length ?? 0) >= count, `${count} answers`)
const hasCurl = ['/usr/bin/curl', '/bin/curl', '/usr/local/bin/curl'].some(path => existsSync(path))
const health = head('GET', '/health', {})

t.test('the bodies of curl, fetch and node are taken past the streams, and the form is seen as it is', async t => {
  const source = join(t.testdir({}), 'source')
  const content = randomBytes(3 * MiB)
  writeFileSync(source, content)
  const target = join(dirname(source), 'target')
  const server = createServer(async (message, response) => {
    // What came with the head is delivered after the event.
    await Promise.resolve()
    const { rawPath, body, headers } = toRequest(message)
    const fd = openSync(target, 'w')
    const tell = (what: object) => {
      closeSync(fd)
      response.end(JSON.stringify(what))
    }
    if (rawPath === '/raw') {
      const received = receiveContent(detacher, body, {
        taken: 0,
        ahead: Buffer.alloc(0),
        delimiter: undefined,
        hashing: true,
      })
      if (!received) return tell({ taken: false })
      void received.incoming.writeTo(fd, 0, Infinity).then(async ({ bytes }) => {
        const { remainder } = await received.release()
        body.resume().once('end', () => tell({ taken: true, bytes, behind: remainder.length }))
      })
      return
    }
    let before = 0
    let size = 0
    const push = message.push.bind(message)
    message.push = piece => {
      before += piece?.length ?? 0
      return push(piece)
    }
    const reader = {
      field() {},
      file:
        () => async (incoming: { writeTo: (fd: number, at: number, room: number) => Promise<{ bytes: number }> }) => {
          size = (await incoming.writeTo(fd, 0, Infinity)).bytes
        },
    }
    readForm(toRequest(message), reader, { fieldLimit: 100, detacher }).then(
      () => tell({ taken: before < Number(headers['content-length']) / 2, bytes: size }),
      error => tell({ error: String(error) }),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = async (how: string, asked: Promise<unknown>) => {
    t.match(await asked, { taken: true, bytes: content.length }, how)
    t.ok(readFileSync(target).equals(content), how)
  }
  const curl = async (...args: string[]) => JSON.parse((await run('curl', ['-sS', ...args])).stdout)
  const data = new FormData()
  data.append('file', new Blob([new Uint8Array(content)]), 'x')
  data.append('path', 'behind')
  await ask(
    'fetch, form',
    fetch(`${url}/form`, { method: 'PUT', body: data }).then(answer => answer.json()),
  )
  await ask(
    'fetch',
    fetch(`${url}/raw`, { method: 'PUT', body: new Uint8Array(content) }).then(answer => answer.json()),
  )
  if (!hasCurl) return void t.pass('there is no curl: not looked at')
  await ask('curl, form', curl('-F', 'before=x', '-F', `file=@${source}`, '-F', 'behind=y', `${url}/form`))
  await ask('curl', curl('-T', source, `${url}/raw`))
})

t.test('raw bytes, and the next requests on the same connection', async t => {
  const { port, dir } = await daemonServer(t)
  const contents = [2 * MiB, 5 * MiB + 1, 600_001].map(size => randomBytes(size))
  const one = await raw(t, port)
  for (const [index, content] of contents.entries()) one.send(putRaw(`/filesystem/f${index}`, content))
  one.send(health)
  const text = await one.seen(/"status":"ok"/)
  t.equal(text.match(/HTTP\/1.1 200/g)?.length, contents.length + 1)
  t.notMatch(text, /connection: close/i)
  for (const [index, content] of contents.entries()) t.ok(readFileSync(join(dir, `f${index}`)).equals(content))
})

t.test('forms with fields, other files and what looks like the boundary, on one connection', async t => {
  const { port, dir } = await daemonServer(t)
  const alike = Buffer.from(`\r\n--${boundary.slice(0, -1)}\r\r\n--${boundary.slice(0, 5)}\r\n\r\n--\r\n`)
  const beginnings = ['', '\r', '\r\n', '\r\n-', `\r\n--${boundary.slice(0, -1)}`, '--', '\r\n\r\n', '\n']
  const one = await raw(t, port)
  const contents: Buffer[] = []
  for (const [index, beginning] of beginnings.entries()) {
    const content = Buffer.concat([
      Buffer.from(beginning),
      ...Array.from({ length: 20 }, () => [randomBytes(50_000), alike]).flat(),
      Buffer.from(beginning),
    ])
    contents.push(content)
    one.send(
      putForm(
        `/filesystem/f${index}`,
        form(
          part('other', 'o', randomBytes(200_000)),
          part('permissions', undefined, '0640'),
          part('file', 'x', content),
          part('file', 'second', randomBytes(700_000)),
          part('path', undefined, '/else/where'),
        ),
      ),
    )
    await answered(one, index + 1)
  }
  one.send(health)
  await one.seen(/"status":"ok"/)
  for (const [index, content] of contents.entries()) {
    t.ok(readFileSync(join(dir, `f${index}`)).equals(content), JSON.stringify(beginnings[index]))
    t.equal(statSync(join(dir, `f${index}`)).mode & 0o777, 0o640 & ~process.umask())
  }
})

t.test('a form that comes in two pieces, cut around the beginning and the end of the content', async t => {
  const { port, dir } = await daemonServer(t)
  const content = randomBytes(MiB)
  const body = form(part('file', 'x', content), part('path', undefined, 'y'))
  const asked = putForm('/filesystem/f', body)
  const begins = asked.indexOf(content.subarray(0, 64))
  const one = await raw(t, port)
  let count = 0
  for (const around of [begins, begins + content.length])
    for (let cut = around - 6; cut <= around + 30; cut += 3) {
      one.send(asked.subarray(0, cut))
      // So that the pieces arrive apart: another connection is answered in between.
      await (await fetch(`http://127.0.0.1:${port}/health`)).text()
      one.send(asked.subarray(cut))
      await answered(one, ++count)
      t.ok(readFileSync(join(dir, 'f')).equals(content), `cut at ${cut - around}`)
    }
  t.equal(one.text().match(/HTTP\/1.1 200/g)?.length, count)
})

t.test('slow drops, and a client that waits for 100', async t => {
  const { port, dir } = await daemonServer(t)
  const content = randomBytes(MiB)
  const slow = await raw(t, port)
  const asked = putRaw('/filesystem/slow', content)
  slow.send(asked.subarray(0, -1_000))
  for (let left = 1_000; left > 0; left -= 100) {
    await (await fetch(`http://127.0.0.1:${port}/health`)).text()
    slow.send(asked.subarray(asked.length - left, asked.length - left + 100))
  }
  await slow.seen(/HTTP\/1.1 200/)
  t.ok(readFileSync(join(dir, 'slow')).equals(content))
  const polite = await raw(t, port)
  const expecting = putRaw('/filesystem/polite', content, { expect: '100-continue' })
  polite.send(expecting.subarray(0, expecting.length - content.length))
  await polite.seen(/HTTP\/1.1 100 Continue\r\n\r\n/)
  polite.send(content)
  await polite.seen(/HTTP\/1.1 200/)
  t.ok(readFileSync(join(dir, 'polite')).equals(content))
})

t.test('a client that vanishes leaves nothing, or the old file', async t => {
  const { port, dir } = await daemonServer(t, { files: { raw: 'old' } })
  const content = randomBytes(4 * MiB)
  for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
    const one = await raw(t, port)
    one.send(putRaw('/filesystem/raw', content).subarray(0, -MiB))
    await until(async () => draftsIn(dir).some(size => size > MiB), 'the beginning')
    one.socket[leave]()
    await until(async () => draftsIn(dir).length === 0, 'it to be gone')
    t.equal(readFileSync(join(dir, 'raw'), 'utf8'), 'old', leave)
    const two = await raw(t, port)
    two.send(putForm('/filesystem/form', form(part('file', 'x', content))).subarray(0, -MiB))
    await until(async () => draftsIn(dir).some(size => size > MiB), 'the beginning')
    two.socket[leave]()
    await until(async () => draftsIn(dir).length === 0, 'it to be gone')
    t.same(readdirSync(dir), ['raw'], leave)
  }
})

t.test('a form without its end is 400 and leaves nothing; the connection goes on', async t => {
  const { port, dir } = await daemonServer(t)
  const one = await raw(t, port)
  const whole = form(part('file', 'x', randomBytes(2 * MiB)))
  one.send(putForm('/filesystem/cut', whole.subarray(0, -boundary.length)))
  one.send(health)
  t.match(await one.seen(/"status":"ok"/), /HTTP\/1.1 400[^]*Unexpected end of form[^]*HTTP\/1.1 200/)
  t.same(readdirSync(dir), [])
  one.send(putForm('/filesystem/late', form(part('file', 'x', randomBytes(MiB)), part('permissions', undefined, '?'))))
  await answered(one, 3)
  t.equal(one.text().match(/HTTP\/1.1 400/g)?.length, 2)
})

t.test('a full disk and a target that is none are answered, and the connection goes on', async t => {
  const { port, dir } = await daemonServer(t, { files: { d: {} } })
  const content = randomBytes(6 * MiB)
  const targets: [string, RegExp][] = [[join(dir, 'd'), /EISDIR/]]
  const disk = smallDisk(t, 2)
  if (disk) targets.push([join(disk, 'big'), /ENOSPC[^]*no space left/])
  for (const [path, reason] of targets)
    for (const asked of [
      putRaw(`/filesystem${encodeURIComponent(path)}`, content),
      putForm(`/filesystem${encodeURIComponent(path)}`, form(part('file', 'x', content))),
    ]) {
      const one = await raw(t, port)
      one.send(asked)
      one.send(health)
      const text = await one.seen(/"status":"ok"/)
      t.match(text, /^HTTP\/1.1 422/)
      t.match(text, reason)
    }
  if (disk) t.same(readdirSync(disk), [])
  t.same(draftsIn(dir), [])
})

t.test('a daemon that stops ends what is under way', async t => {
  const { daemon: made, dir } = await daemon(t)
  const { port, close } = await listen(
    serveByLane(made.dispatcher, { log: silentLog, clock: systemClock(), begun: () => () => {} }),
    { port: 0, host: '127.0.0.1' },
  )
  const one = await raw(t, port)
  one.send(putRaw('/filesystem/f', randomBytes(4 * MiB)).subarray(0, -1))
  await until(async () => draftsIn(dir).some(size => size > 3 * MiB), 'the beginning')
  await close(1)
  await until(async () => draftsIn(dir).length === 0, 'it to be gone')
  t.same(readdirSync(dir), [])
})

t.test('parts in parallel, one larger than its place, in pieces of any kind', async t => {
  const { url, dir } = await daemonServer(t)
  const base = `${url}/filesystem-multipart`
  const { uploadId } = (await (await fetch(`${base}/initiate/whole`, { method: 'POST' })).json()) as {
    uploadId: string
  }
  const sizes = [MiB, ...Array.from({ length: 9 }, () => MiB), 3 * MiB, 700_000]
  const contents = sizes.map(size => randomBytes(size))
  const put = async (content: Buffer, index: number) => {
    const body = form(part('file', 'blob', content), part('more', undefined, 'x'))
    const asked = request(`${base}/${uploadId}/part?partNumber=${index + 1}`, {
      method: 'PUT',
      // Every third without a length: by the other way.
      headers: { 'content-type': type, ...(index % 3 === 2 ? {} : { 'content-length': body.length }) },
    })
    asked.end(body)
    const [answer] = await once(asked, 'response')
    const text = Buffer.concat(await answer.toArray()).toString()
    return JSON.parse(text)
  }
  const answers = [await put(contents[0] as Buffer, 0)]
  answers.push(...(await Promise.all(contents.slice(1).map((content, index) => put(content, index + 1)))))
  for (const [index, content] of contents.entries())
    t.same(answers[index], {
      partNumber: index + 1,
      etag: createHash('md5').update(content).digest('hex'),
      size: content.length,
    })
  const done = await fetch(`${base}/${uploadId}/complete`, { method: 'POST', body: JSON.stringify({ parts: answers }) })
  t.equal(done.status, 200)
  t.ok(readFileSync(join(dir, 'whole')).equals(Buffer.concat(contents)))
})
