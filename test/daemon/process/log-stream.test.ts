import { Writable } from 'node:stream'
import t from 'tap'
import { requestOf } from '../../support/call.ts'
import { Reply } from '../../../shared/route.ts'
import { events, openGet, openPost, processDaemon, processServer, until } from '../../support/processes.ts'

const run = (command: string, name: string) => ({ body: { command, name, waitForCompletion: true } })

t.test('a live reader loses nothing to processes that have finished, or that are silent', async t => {
  const total = 12 * 1024 * 1024
  const { url, call } = await processServer(t, { env: { SANDBOX_MAX_LOG_BYTES_TOTAL: String(total) } })
  for (let index = 0; index < 30; index++)
    await call('POST', '/process', { body: { command: 'seq 1 50000', name: `old${index}`, waitForCompletion: true } })
  for (let index = 0; index < 12; index++) await call('POST', '/process', { body: { command: 'exec sleep 300' } })
  // The daemon has looked at all of them by then.
  await new Promise(resolve => setTimeout(resolve, 5_500))
  const command = 'seq 1 300000'
  const wanted = Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join('')
  const stream = await openPost(t, `${url}/process`, { command, name: 'live' }, { accept: 'text/event-stream' })
  const seen = events(await stream.ended)
  t.ok(
    seen
      .filter(({ type }) => type === 'stdout')
      .map(({ data }) => data)
      .join('') === wanted,
    'every byte',
  )
  t.match((await call('GET', '/process/old0/logs')).body.stdout, /^\[\.\.\. truncated/, 'the oldest gave way')
  const { body } = await call('GET', '/process/live/logs')
  t.ok(body.stdout === wanted, 'and it is there afterwards')
})

t.test('every line is prefixed once, an unfinished one stays unfinished', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', run("printf 'first\\nsecond\\nno newline' >&2", 'a'))
  t.equal((await call('GET', '/process/a/logs/stream')).text, 'stderr:first\nstderr:second\nstderr:no newline')
  await call('POST', '/process', run("printf 'out'; printf 'err' >&2", 'b'))
  t.equal((await call('GET', '/process/b/logs/stream')).text, 'stdout:out\nstderr:err')
  await call('POST', '/process', run('true', 'c'))
  t.equal((await call('GET', '/process/c/logs/stream')).text, '')
})

t.test('long lines and much output arrive whole', async t => {
  const { call } = await processDaemon(t)
  const long = 'x'.repeat(200_000)
  await call('POST', '/process', run(`head -c 200000 /dev/zero | tr '\\0' x; echo; seq 1 100000`, 'a'))
  const { text } = await call('GET', '/process/a/logs/stream')
  const lines = text.split('\n')
  t.ok(lines[0] === `stdout:${long}`)
  t.equal(lines.length, 100_002)
  t.ok(lines.slice(1, -1).every((line, index) => line === `stdout:${index + 1}`))
})

t.test('live output comes as it is written, and the stream ends with the process', async t => {
  const { call, url } = await processServer(t)
  await call('POST', '/process', { body: { command: 'cat', name: 'cat', stdin: true } })
  const stream = await openGet(t, `${url}/process/cat/logs/stream`)
  t.equal(stream.message.statusCode, 200)
  t.match(stream.message.headers, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-svc-cursor': '0',
  })
  for (const tick of ['one', 'two', 'three']) {
    await call('POST', '/process/cat/stdin', { body: `${tick}\n` })
    await stream.seen(new RegExp(`^stdout:${tick}$`, 'm'))
  }
  // Long enough without output that the tailer waits for the kernel to wake it.
  await new Promise(resolve => setTimeout(resolve, 400))
  await call('POST', '/process/cat/stdin', { body: 'four\nhalf' })
  await stream.seen(/^stdout:four\n$/m)
  await call('DELETE', '/process/cat/stdin')
  t.equal(await stream.ended, 'stdout:one\nstdout:two\nstdout:three\nstdout:four\nstdout:half')
})

t.test('a reader that comes back goes on at the byte where it stopped', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', run('for i in 1 2 3 4 5; do echo "out $i"; echo "err $i" >&2; done; printf end', 'a'))
  for (const stream of ['combined', 'stdout', 'stderr']) {
    const whole = await call('GET', `/process/a/logs/stream?stream=${stream}`)
    t.equal(whole.headers['x-svc-cursor'], '0')
    for (let cursor = 0; cursor <= whole.bytes.length; cursor += 3) {
      const rest = await call('GET', `/process/a/logs/stream?stream=${stream}&cursor=${cursor}`)
      t.equal(rest.headers['x-svc-cursor'], String(cursor))
      t.ok(rest.bytes.equals(whole.bytes.subarray(cursor)), `${stream} from ${cursor}`)
    }
  }
  const byHeader = await call('GET', '/process/a/logs/stream', { headers: { 'X-Svc-Cursor': '7' } })
  t.match(byHeader.headers, { 'x-svc-cursor': '7' })
  const beyond = await call('GET', '/process/a/logs/stream?stream=stdout&cursor=999999')
  t.match(beyond, { status: 200, headers: { 'x-svc-cursor': '33' }, text: '' })
  for (const cursor of ['-1', 'x', '1.5'])
    t.match(await call('GET', `/process/a/logs/stream?cursor=${cursor}`), { status: 400, body: { error: /cursor/ } })
  t.equal((await call('GET', '/process/a/logs/stream', { headers: { 'X-Svc-Cursor': 'x' } })).status, 400)
  t.equal((await call('GET', '/process/a/logs/stream?stream=both')).status, 400)
})

t.test('a head that is gone is told in the stream and in the header', async t => {
  const { call } = await processDaemon(t, { env: { SANDBOX_MAX_LOG_FILE_BYTES: '65536' } })
  await call('POST', '/process', run('seq 1 100000; sleep 0.3; seq 100001 100100', 'a'))
  for (const stream of ['combined', 'stdout']) {
    const { headers, text } = await call('GET', `/process/a/logs/stream?stream=${stream}`)
    const start = Number(headers['x-svc-cursor'])
    t.ok(start > 400_000, `${start}`)
    const [marker = '', second = ''] = text.split('\n')
    t.match(marker, /^(stdout:)?\[\.\.\. truncated \d+ bytes, continues at cursor \d+\]$/)
    t.equal(Number(/cursor (\d+)/.exec(marker)?.[1]), start)
    if (stream === 'combined') t.match(second, /^stdout:(\[\.\.\. truncated )?\d+/)
    t.match(text, /100100\n$/)
    t.notOk(text.includes('\0'), 'what was given back to the disk is never served')
    const inside = await call('GET', `/process/a/logs/stream?stream=${stream}&cursor=${start + 100}`)
    t.equal(inside.headers['x-svc-cursor'], String(start + 100))
    t.ok(text.endsWith(inside.text))
  }
  t.match((await call('GET', '/process/a/logs')).body.stdout, /^\[\.\.\. truncated \d+ bytes\]\n/)
})

t.test('a slow reader loses nothing and costs no memory', async t => {
  const { call, daemon } = await processDaemon(t)
  const count = 1_000_000
  await call('POST', '/process', { body: { command: `seq 1 ${count}`, name: 'a' } })
  const { signal } = new AbortController()
  const answer = await daemon.dispatcher.dispatch(requestOf('GET', '/process/a/logs/stream'), { signal })
  if (!(answer instanceof Reply) || typeof answer.body !== 'function') throw new Error('it is a stream')
  let bytes = 0
  let last = ''
  const nothing = () => {}
  let go = nothing
  const slow = new Writable({
    write(piece: Buffer, _encoding, done) {
      bytes += piece.length
      last = piece.toString('latin1').slice(-20)
      go = done
    },
  })
  const pumped = answer.body(slow, signal)
  await until('the end', async () => (await call('GET', '/process/a')).body.status === 'completed')
  t.ok(slow.writableLength < 1024 * 1024, `${slow.writableLength} bytes wait for the reader`)
  const pump = setInterval(() => {
    const taken = go
    go = nothing
    taken()
  }, 1)
  t.teardown(() => clearInterval(pump))
  await pumped
  await until('the last byte', () => slow.writableLength === 0)
  const digits = Array.from({ length: count }, (_, index) => String(index + 1).length).reduce((sum, n) => sum + n, 0)
  t.equal(bytes, digits + 8 * count)
  t.equal(last.split('\n').at(-2), `stdout:${count}`)
})

t.test('readers that vanish leave nothing behind, and the process goes on', async t => {
  const { call, url, daemon } = await processServer(t)
  await call('POST', '/process', { body: { command: 'while :; do echo tick; sleep 0.01; done', name: 'a' } })
  const streams = await Promise.all(Array.from({ length: 20 }, () => openGet(t, `${url}/process/a/logs/stream`)))
  for (const stream of streams) await stream.seen(/tick/)
  for (const stream of streams) stream.close()
  t.equal((await call('GET', '/process/a')).body.status, 'running')
  t.equal((await call('DELETE', '/process/a')).status, 200)
  t.ok(daemon, 'the daemon answers')
})

t.test('a stop is told to those who follow, and is not part of the output', async t => {
  const { call, url } = await processServer(t)
  await call('POST', '/process', { body: { command: 'echo up; exec sleep 300', name: 'a' } })
  const stream = await openGet(t, `${url}/process/a/logs/stream`)
  await stream.seen(/up/)
  await call('DELETE', '/process/a')
  t.equal(await stream.ended, 'stdout:up\n[Process is being stopped]\n')
  t.equal((await call('GET', '/process/a/logs/stream')).text, 'stdout:up\n')
})

t.test('many idle readers of one process all hear of its output', async t => {
  const { call, url } = await processServer(t)
  await call('POST', '/process', { body: { command: 'cat', name: 'cat', stdin: true } })
  const streams = await Promise.all(Array.from({ length: 200 }, () => openGet(t, `${url}/process/cat/logs/stream`)))
  await call('POST', '/process/cat/stdin', { body: 'hello\n' })
  await call('DELETE', '/process/cat/stdin')
  const texts = await Promise.all(streams.map(({ ended }) => ended))
  t.ok(texts.every(text => text === 'stdout:hello\n'))
})
