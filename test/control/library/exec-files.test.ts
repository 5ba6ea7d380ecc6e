import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { openHost } from '../../../control/index.ts'
import { testHost } from '../../support/host.ts'
import { until } from '../../support/until.ts'

// One sandbox for all: starting a daemon is the slow part.
const { host } = await testHost(t)
await host.sandboxes.create({ name: 'a' })

t.test('exec takes a directory, variables and a time limit, and hands out output as it comes', async t => {
  const pieces: string[] = []
  const ran = await host.sandboxes.exec('a', {
    command: 'pwd; echo $X; seq 1 50000',
    workingDir: '/tmp',
    env: { X: 'y' },
    onStdout: text => void pieces.push(text),
  })
  t.equal(ran.exitCode, 0)
  t.equal(ran.stdout, `/tmp\ny\n${Array.from({ length: 50_000 }, (_, index) => `${index + 1}\n`).join('')}`)
  t.equal(pieces.join(''), ran.stdout)

  const late = await host.sandboxes.exec('a', { command: 'sleep 600', timeoutSeconds: 1 })
  t.not(late.exitCode, 0)
  t.not(late.status, 'completed')
})

t.test('aborting kills the command', async t => {
  const stop = new AbortController()
  const reason = new Error('enough')
  let pid = 0
  t.teardown(() => {
    try {
      if (pid > 0) process.kill(pid, 'SIGKILL')
    } catch {
      // Killed already, as it should be.
    }
  })
  const running = host.sandboxes.exec('a', {
    command: 'echo $$; exec sleep 600',
    signal: stop.signal,
    onStdout: text => {
      pid = Number(text)
      stop.abort(reason)
    },
  })
  await t.rejects(running, reason)
  t.ok(pid > 0)
  const alive = async () => (await host.sandboxes.exec('a', `kill -0 ${pid}`)).exitCode === 0
  await until(async () => !(await alive()), 'the command to be killed')
})

t.test('a command that writes more than is wanted is killed', async t => {
  let pid = 0
  const flood = host.sandboxes.exec('a', {
    // Output that comes faster than it is read has gaps; the number must not be in one.
    command: 'echo $$; sleep 0.3; exec yes',
    maxOutput: 100_000,
    onStdout: text => void (pid ||= Number.parseInt(text, 10)),
  })
  await t.rejects(flood, { code: 'unprocessable', message: /more than 100000 characters to its output/ })
  t.ok(pid > 0)
  const alive = async () => (await host.sandboxes.exec('a', `kill -0 ${pid}`)).exitCode === 0
  await until(async () => !(await alive()), 'the command to be killed')
  t.match(await host.sandboxes.exec('a', { command: 'printf 12345', maxOutput: 5 }), { stdout: '12345' })
})

t.test('files: text and bytes, streams, lists, removal, and what is not there', async t => {
  const files = host.sandboxes.files('a')
  const bytes = Buffer.from([0, 255, 10, 13, 128])
  await files.write('src/a b#?.bin', bytes)
  t.same(await files.read('src/a b#?.bin'), bytes)
  await files.write('note.txt', 'grüße\n', { permissions: '600' })
  t.equal(await files.readText('note.txt'), 'grüße\n')
  t.match(await host.sandboxes.exec('a', 'stat -c %a note.txt'), { stdout: '600\n' })

  const megabyte = Buffer.alloc(1024 * 1024, 'x')
  await files.write('big', Readable.from(Array.from({ length: 8 }, () => megabyte)))
  const sink = new PassThrough()
  const [through] = await Promise.all([buffer(sink), files.download('big', sink)])
  t.equal(through.length, 8 * megabyte.length)

  await files.makeDirectory('empty')
  const here = await files.list('.')
  t.same(
    here.files.map(({ name }) => name),
    ['big', 'note.txt'],
  )
  t.same(
    here.subdirectories.map(({ name }) => name),
    ['empty', 'src'],
  )
  await t.rejects(files.remove('src'), { code: 'unprocessable' })
  await files.remove('src', { recursive: true })
  await t.rejects(files.read('src/a b#?.bin'), { code: 'not_found', message: /src\/a b#\?\.bin/ })
  await t.rejects(files.remove('none'), { code: 'not_found' })
  t.match(await files.list('/'), { path: '/' })
  await t.rejects(files.list('note.txt'), { code: 'invalid_argument', message: /note.txt is a file/ })
  await files.write('tree/of', 'a relative path')
  t.equal(await files.readText('tree/of'), 'a relative path')
})

t.test('what is wrong is refused with the codes of the API', async t => {
  await t.rejects(host.sandboxes.create({ name: 'a' }), { code: 'already_exists' })
  t.match(await host.sandboxes.create({ name: 'a', ifMissing: true }), { metadata: { name: 'a' } })
  await t.rejects(host.sandboxes.create({ name: 'A b' }), { code: 'invalid_argument', message: /metadata.name/ })
  await t.rejects(host.sandboxes.create({ memoryMb: -1 }), { message: /spec.runtime.memory/ })
  await t.rejects(host.sandboxes.create({ image: 'none' }), { code: 'invalid_image' })
  await t.rejects(host.sandboxes.get('none'), { code: 'not_found' })
  await t.rejects(host.sandboxes.exec('none', 'true'), { code: 'not_found' })
  await t.rejects(host.sandboxes.files('none').read('x'), { code: 'not_found' })
  await t.rejects(host.sandboxes.exec('a', ''), { code: 'invalid_argument' })
  await host.sandboxes.create({ name: 'off', spec: { enabled: false } })
  await t.rejects(host.sandboxes.exec('off', 'true'), { code: 'not_running', message: /"off" is DEACTIVATED/ })
  await t.rejects(host.workspace('none'), { code: 'not_found' })
  const { sandboxes } = await host.workspace('default')
  t.match(await sandboxes.get('a'), { metadata: { name: 'a' } })
})

t.test('exec: a list is a program with its arguments, and input is read to its end', async t => {
  const { exec } = host.sandboxes
  const odd = [`it's`, '$HOME; echo no', '', 'two words']
  t.match(await exec('a', { command: ['printf', '%s\\n', ...odd] }), { exitCode: 0, stdout: `${odd.join('\n')}\n` })
  const bytes = Buffer.alloc(300_000, 'abcdefghi\n')
  t.match(await exec('a', { command: ['wc', '-c'], stdin: bytes }), { exitCode: 0, stdout: '300000\n' })
  t.match(await exec('a', { command: 'read line; echo "got $line"', stdin: 'one\ntwo\n' }), { stdout: 'got one\n' })
  t.match(await exec('a', { command: ['false'], stdin: 'unread' }), { exitCode: 1 }, 'one that does not read it')
  await t.rejects(exec('a', { command: [] }), { code: 'invalid_argument', message: /^command: / })
  await t.rejects(exec('a', { command: ['a\0b'] }), { code: 'invalid_argument' })
  const misspelt = { command: 'true', timeoutSecond: 1 } as { command: string }
  await t.rejects(exec('a', misspelt), { message: 'timeoutSecond: is not known; did you mean timeoutSeconds?' })
})

t.test('processes go on by themselves, are followed, fed and ended', async t => {
  const processes = host.sandboxes.processes('a')
  const { name } = await processes.start({ command: 'cat; exec sleep 600', name: 'echo', stdin: true })
  await processes.write(name, 'hello\n')
  let seen = ''
  for await (const { type, data } of processes.follow(name)) {
    if (type === 'stdout') seen += data
    if (seen === 'hello\n') break
  }
  await processes.closeInput(name)
  t.match(await processes.get(name), { status: 'running' })
  t.match(await processes.logs(name), { stdout: 'hello\n' })
  await processes.kill(name)
  const events: string[] = []
  for await (const { type } of processes.follow(name, { cursor: 6 })) events.push(type)
  t.equal(events.at(-1), 'result')
  t.match(
    (await processes.list()).find(one => one.name === name),
    { status: 'killed' },
  )
  await t.rejects(processes.get('none'), { code: 'not_found' })
})

t.test('what listens in it is asked by its port; changes of files are watched', async t => {
  const { sandboxes } = host
  const script = `const { createServer } = require('node:http')
    const endless = r => { while (r.write(Buffer.alloc(1 << 20))); r.once('drain', () => endless(r)) }
    const server = createServer((q, r) => { r.setHeader('x-path', q.url); q.url === '/endless' ? endless(r) : q.pipe(r) })
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  await sandboxes.files('a').write('serve.cjs', script)
  const processes = sandboxes.processes('a')
  const { pid, name } = await processes.start({ command: `exec ${process.execPath} serve.cjs` })
  let port = 0
  for await (const { type, data } of processes.follow(name))
    if (type === 'stdout') {
      port = Number(data)
      break
    }
  const ports = sandboxes.ports('a')
  const answer = await ports.fetch(port, '/x?y=1', { method: 'POST', body: 'sent' })
  t.match({ status: answer.status, path: answer.headers.get('x-path') }, { status: 200, path: '/x?y=1' })
  t.equal(await answer.text(), 'sent')
  t.match(await ports.of(Number(pid)), [{ localPort: port, state: 'LISTEN' }])
  await t.rejects(ports.fetch(port, '/endless'), { code: 'upstream_malformed', message: /more than 67108864 bytes/ })
  await processes.kill(name)
  await until(
    () =>
      ports.fetch(port, '/').then(
        () => false,
        (error: { code: string }) => error.code === 'upstream_failed',
      ),
    'the port to close',
  )
  await t.rejects(ports.fetch(0, '/'), { code: 'invalid_argument', message: /^port: / })

  await sandboxes.files('a').makeDirectory('watched')
  let seen = ''
  const watching = (async () => {
    for await (const change of sandboxes.watch('a', 'watched')) {
      seen = change.name
      if (seen === 'new') return
    }
  })()
  // It is written until it is seen: when the watch begins nobody is told.
  await until(async () => {
    await sandboxes.files('a').write('watched/new', 'x')
    return seen === 'new'
  }, 'a change')
  await watching
})

t.test('restarted it has its files; misspelt options are named; a closed host says so', async t => {
  const { sandboxes } = host
  await sandboxes.files('a').write('kept', 'yes')
  t.match(await sandboxes.restart('a'), { status: 'DEPLOYING' })
  t.equal(await sandboxes.files('a').readText('kept'), 'yes')
  await t.rejects(sandboxes.restart('none'), { code: 'not_found' })
  const misspelt = { memoryMB: 512 } as object
  await t.rejects(sandboxes.create(misspelt), { message: 'memoryMB: is not known; did you mean memoryMb?' })
  await t.rejects(openHost({ prot: 1 } as object), { message: 'prot: is not known; did you mean port?' })
  await host.close()
  const closed = { code: 'unavailable', message: /^this host is closed; / }
  await t.rejects(sandboxes.list(), closed)
  await t.rejects(sandboxes.create({ name: 'late' }), closed)
  await t.rejects(sandboxes.exec('a', 'true'), closed)
  await t.rejects(sandboxes.files('a').read('kept'), closed)
  await t.rejects(host.listen(), closed)
  await t.rejects(host.workspace('default'), closed)
})
