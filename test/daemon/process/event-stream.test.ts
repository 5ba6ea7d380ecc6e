import t from 'tap'
import { unfinishedBytes } from '../../../daemon/process/event-stream.ts'
import { events, openPost, processDaemon, processServer, until } from '../../support/processes.ts'

const streaming = (body: object) => ({ body, headers: { accept: 'text/event-stream' } })
const joined = (list: ReturnType<typeof events>, type: string) =>
  list.flatMap(event => (event.type === type ? [event.data] : [])).join('')

t.test('events carry both streams and end with the process', async t => {
  const { call } = await processDaemon(t)
  const answer = await call('POST', '/process', streaming({ command: 'echo out; echo err >&2; exit 42', name: 'x' }))
  t.match(answer, { status: 200, headers: { 'content-type': 'application/x-ndjson', 'x-svc-cursor': '0' } })
  t.notMatch(answer.text, /\n\n/, 'no blank lines')
  const list = events(answer.text)
  t.equal(joined(list, 'stdout'), 'out\n')
  t.equal(joined(list, 'stderr'), 'err\n')
  const last = list.at(-1)
  t.equal(last?.type, 'result')
  t.match(JSON.parse(last?.data ?? ''), {
    name: 'x',
    status: 'failed',
    exitCode: 42,
    stdout: 'out\n',
    stderr: 'err\n',
    logs: 'out\nerr\n',
  })
})

t.test('an event comes before its line is finished', async t => {
  const { call, url } = await processServer(t)
  const stream = await openPost(
    t,
    `${url}/process`,
    { command: 'printf "name? "; read name; echo "hi $name"', name: 'ask', stdin: true },
    { accept: 'text/event-stream' },
  )
  await stream.seen(/name\? /)
  await call('POST', '/process/ask/stdin', { body: 'you\n' })
  const list = events(await stream.ended)
  t.equal(joined(list, 'stdout'), 'name? hi you\n')
})

t.test('a reader that comes back goes on behind the event it has taken', async t => {
  const { call } = await processDaemon(t)
  const command = 'for i in 1 2 3; do echo "o$i"; sleep 0.03; echo "e$i" >&2; sleep 0.03; done'
  const whole = events((await call('POST', '/process', streaming({ command, name: 'x' }))).text)
  t.ok(whole.length > 4, 'several events')
  for (const { cursor } of whole.slice(0, -1)) {
    const answer = await call('GET', `/process/x/logs/stream?stream=events&cursor=${cursor}`)
    t.equal(answer.headers['x-svc-cursor'], String(cursor))
    const rest = events(answer.text)
    for (const type of ['stdout', 'stderr']) {
      const before = joined(
        whole.filter(event => event.cursor !== undefined && event.cursor <= Number(cursor)),
        type,
      )
      t.equal(before + joined(rest, type), joined(whole, type))
    }
    t.equal(rest.at(-1)?.type, 'result')
  }
})

t.test('characters are never cut in two', async t => {
  const { call } = await processDaemon(t)
  const command = `printf '\\303'; sleep 0.05; printf '\\274\\n'; head -c 300000 /dev/zero | sed 's/\\x0/ü€/g'`
  const list = events((await call('POST', '/process', streaming({ command }))).text)
  const text = joined(list, 'stdout')
  t.ok(text.startsWith('ü\n'))
  t.ok(text.slice(2) === 'ü€'.repeat(300_000))
  let bytes = 0
  for (const { data, cursor } of list.slice(0, -1)) {
    bytes += Buffer.byteLength(data ?? '')
    if (cursor !== bytes) t.equal(cursor, bytes, 'a cursor never lies inside of a character')
  }
  t.equal(unfinishedBytes(Buffer.from('€').subarray(0, 2)), 2)
  t.equal(unfinishedBytes(Buffer.from('€')), 0)
  t.equal(unfinishedBytes(Buffer.from([0xf0, 0x9f, 0x98])), 3)
  t.equal(unfinishedBytes(Buffer.from([0x80, 0x80, 0x80, 0x80])), 0, 'not UTF-8 at all')
})

t.test('what fails after the start is an event, what was asked wrongly a 400', async t => {
  const { call } = await processDaemon(t)
  t.match(await call('POST', '/process', streaming({ command: '' })), { status: 400, body: { error: /command/ } })
  const missing = await call('POST', '/process', streaming({ command: 'ls', workingDir: '/no/such' }))
  t.equal(missing.status, 200)
  t.match(events(missing.text), [{ type: 'error', data: /does not exist/ }])
  const ports = await call(
    'POST',
    '/process',
    streaming({ command: 'sleep 300', waitForPorts: [1], timeout: 1, name: 'p' }),
  )
  t.match(events(ports.text), [{ type: 'error', data: /timed out/ }])
  t.equal((await call('GET', '/process/p')).body.status, 'running')
})

t.test('a reader that leaves only leaves', async t => {
  const { call, url } = await processServer(t)
  const stream = await openPost(
    t,
    `${url}/process`,
    { command: 'echo one; sleep 0.2; echo two', name: 'x' },
    { accept: 'text/event-stream' },
  )
  await stream.seen(/one/)
  stream.close()
  await until('the end', async () => (await call('GET', '/process/x')).body.status === 'completed')
  t.equal((await call('GET', '/process/x')).body.stdout, 'one\ntwo\n')
})

t.test('a character whose bytes are far apart is whole for a reader that comes back', async t => {
  const { call } = await processDaemon(t)
  const command = "printf 'a\\342\\202'; sleep 0.1; printf e >&2; sleep 0.1; printf '\\254z'"
  const whole = events((await call('POST', '/process', streaming({ command, name: 'x' }))).text)
  t.equal(joined(whole, 'stdout'), 'a€z')
  const between = whole.find(({ type }) => type === 'stderr')?.cursor
  const rest = events((await call('GET', `/process/x/logs/stream?stream=events&cursor=${between}`)).text)
  t.equal(joined(rest, 'stdout'), '€z')
})

t.test('a character that is never finished is shown as broken, not left out', async t => {
  const { call } = await processDaemon(t)
  const list = events((await call('POST', '/process', streaming({ command: "printf 'abc\\342\\202'" }))).text)
  t.equal(joined(list, 'stdout'), 'abc\ufffd')
})
