import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import t from 'tap'
import { processDaemon, processServer, until } from '../../support/processes.ts'

t.test('what is written arrives in order, byte for byte; closing ends the input', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', { body: { command: 'cat', name: 'cat', stdin: true } })
  t.equal((await call('POST', '/process/cat/stdin', { body: 'raw\n' })).status, 200)
  const json = { body: '{"data": "ü"}\n', headers: { 'content-type': 'application/json' } }
  t.equal((await call('POST', '/process/cat/stdin', json)).status, 200)
  await until('the echo', async () => (await call('GET', '/process/cat')).body.stdout === 'raw\n{"data": "ü"}\n')
  t.equal((await call('DELETE', '/process/cat/stdin')).status, 200)
  await until('the end', async () => (await call('GET', '/process/cat')).body.status === 'completed')
  t.match(await call('POST', '/process/cat/stdin', { body: 'more' }), { status: 409 })
})

t.test('a large input flows no faster than it is read, whole', async t => {
  const { call } = await processDaemon(t)
  const size = 8 * 1024 * 1024
  await call('POST', '/process', { body: { command: 'sleep 0.2; wc -c', name: 'count', stdin: true } })
  const pieces = Array.from({ length: 128 }, (_, index) => Buffer.alloc(size / 128, index))
  t.equal((await call('POST', '/process/count/stdin', { body: Readable.from(pieces) })).status, 200)
  await call('DELETE', '/process/count/stdin')
  await until('the count', async () => (await call('GET', '/process/count')).body.stdout.trim() === String(size))
  t.pass('all of it')
})

t.test('two writers do not mix', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', { body: { command: 'uniq -c', name: 'uniq', stdin: true } })
  const lines = (letter: string) =>
    Readable.from(Array.from({ length: 64 }, () => Buffer.from(`${letter}\n`.repeat(2048))))
  await Promise.all(['a', 'b'].map(letter => call('POST', '/process/uniq/stdin', { body: lines(letter) })))
  await call('DELETE', '/process/uniq/stdin')
  const counts = await until('the counts', async () => {
    const { body } = await call('GET', '/process/uniq')
    return body.status === 'completed' && body.stdout
  })
  t.equal(counts.trim().split(/\s*\n\s*/).length, 2, counts)
})

t.test('input that cannot be taken is refused', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', { body: { command: 'sleep 300', name: 'without' } })
  t.match(await call('POST', '/process/without/stdin', { body: 'x' }), {
    status: 409,
    body: { error: /"stdin": true/ },
  })
  t.match(await call('DELETE', '/process/without/stdin'), { status: 409 })

  await call('POST', '/process', {
    body: { command: 'exec 0<&-; echo shut; exec sleep 300', name: 'shut', stdin: true },
  })
  await until('the close', async () => (await call('GET', '/process/shut')).body.stdout === 'shut\n')
  t.match(await call('POST', '/process/shut/stdin', { body: 'x' }), {
    status: 409,
    body: { error: /closed by the process/ },
  })
  t.match(await call('POST', '/process/shut/stdin', { body: 'x' }), { status: 409 })

  await call('POST', '/process', { body: { command: 'cat', name: 'open', stdin: true } })
  await call('DELETE', '/process/open/stdin')
  t.match(await call('DELETE', '/process/open/stdin'), { status: 200 }, 'once more is fine')
})

t.test('what was answered is in the pipe, and what is not read holds the answer', async t => {
  const { url, call } = await processServer(t)
  await call('POST', '/process', { body: { command: 'sleep 300 & wait; cat', name: 'later', stdin: true } })
  const post = (body: string, signal?: AbortSignal) =>
    fetch(`${url}/process/later/stdin`, { method: 'POST', body, ...(signal ? { signal } : {}) })
  t.equal((await post('x'.repeat(64 * 1024))).status, 200, 'a pipe holds so much')
  let answered = false
  const waiting = post('y').then(answer => {
    answered = true
    return answer.status
  })
  t.equal((await fetch(`${url}/health`)).status, 200)
  t.notOk(answered)
  const { body } = await call('GET', '/process/later')
  const [child] = readFileSync(`/proc/${body.pid}/task/${body.pid}/children`, 'utf8').split(' ')
  process.kill(Number(child), 'SIGKILL')
  t.equal(await waiting, 200)
  await until('the echo', async () => (await call('GET', '/process/later/logs')).body.stdout.endsWith('xy'))
})
