import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
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
