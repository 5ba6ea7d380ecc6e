import t from 'tap'
import { processDaemon } from '../../support/processes.ts'

const waited = (command: string, more: object = {}) => ({ body: { command, waitForCompletion: true, ...more } })

t.test('a start answers at once with null logs; pid and name find the same process', async t => {
  const { call } = await processDaemon(t)
  const started = await call('POST', '/process', { body: { command: 'sleep 300', name: 'long' } })
  t.match(started, {
    status: 200,
    body: { name: 'long', status: 'running', logs: null, stdout: '', stderr: '', completedAt: '', exitCode: 0 },
  })
  t.match(started.body.pid, /^\d+$/)
  t.match(started.body.startedAt, /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/)
  t.match((await call('GET', `/process/${started.body.pid}`)).body, { name: 'long' })
  t.match((await call('GET', '/process/long')).body, { pid: started.body.pid, completedAt: '' })
  t.match((await call('GET', '/process')).body, [{ name: 'long', completedAt: null }])
})

t.test('output and exit code are there right after completion', async t => {
  const { call } = await processDaemon(t)
  const hello = await call('POST', '/process', waited('echo "hello world"'))
  t.match(hello.body, { status: 'completed', exitCode: 0, logs: 'hello world\n', stdout: 'hello world\n', stderr: '' })
  t.match((await call('GET', `/process/${hello.body.name}/logs`)).body, { stdout: 'hello world\n', stderr: '' })
  const both = await call('POST', '/process', waited('echo err >&2; echo out; exit 42'))
  t.match(both, { status: 200, body: { status: 'failed', exitCode: 42, logs: 'out\nerr\n' } })
  t.match((await call('POST', '/process', waited('kill -9 $$'))).body, { status: 'failed', exitCode: -1 })
})

t.test('the command runs in a shell, in its directory, with its environment', async t => {
  const { call, dir } = await processDaemon(t, { env: { GIVEN: 'daemon', KEPT: 'yes' } })
  const logs = async (command: string, more: object = {}) => {
    const { body } = await call('POST', '/process', waited(command, more))
    return body.logs
  }
  t.equal(await logs('cd /tmp && pwd'), '/tmp\n')
  t.equal(await logs('pwd', { workingDir: dir }), `${dir}\n`)
  t.equal(await logs('echo $((1 + 1)) "$(echo nested)" \'$HOME\''), '2 nested $HOME\n')
  t.equal(await logs('echo $GIVEN $KEPT', { env: { GIVEN: 'caller' } }), 'caller yes\n')
  t.equal(await logs('env | grep -c ^GIVEN=', { env: { GIVEN: 'caller' } }), '1\n')
  t.equal(await logs('echo ok', { env: null }), 'ok\n')
  t.equal(await logs('cat; echo end'), 'end\n', 'stdin is empty')
  t.match(await logs('cd ~ && pwd', { workingDir: '~' }), /home\n$/)
})

t.test('a working directory that is missing is named, and nothing is started', async t => {
  const { call } = await processDaemon(t)
  for (const workingDir of ['/no/such/dir', 'no/such/dir']) {
    const { status, body } = await call('POST', '/process', { body: { command: 'ls -la', workingDir, name: 'n' } })
    t.equal(status, 422)
    for (const part of ['could not execute command', 'ls -la', workingDir, 'does not exist']) t.match(body.error, part)
  }
  t.same((await call('GET', '/process')).body, [])
  t.equal((await call('POST', '/process', waited('true', { name: 'n' }))).status, 200, 'the name is free')
})

t.test('what is asked wrongly is a 400 that names the field, and starts nothing', async t => {
  const { call } = await processDaemon(t)
  const wrong: [object | string, RegExp][] = [
    ['', /^invalid request body/],
    ['[]', /^invalid request body/],
    [{}, /^invalid request body: command/],
    [{ command: '' }, /command: is required/],
    [{ command: 1 }, /command/],
    [{ command: 'a\0b' }, /command/],
    [{ command: 'true', name: 'a/b' }, /name: must not contain \//],
    [{ command: 'true', name: '..' }, /name/],
    [{ command: 'true', timeout: '5' }, /timeout/],
    [{ command: 'true', waitForPorts: [0] }, /waitForPorts/],
    [{ command: 'true', waitForPorts: Array(1025).fill(80) }, /waitForPorts/],
    [{ command: 'true', env: { 'A=B': 'x' } }, /env/],
    [{ command: 'true', env: { A: 1 } }, /env/],
    [{ command: 'true', env: { '': 'x' } }, /env/],
    [{ command: 'true', env: { LONG: 'x'.repeat(131_067) } }, /env.LONG: a variable may take 131072 bytes/],
    [
      {
        command: 'true',
        env: Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`A${at}`, 'x'.repeat(100_000)])),
      },
      /env: all variables together may take 524288 bytes/,
    ],
    [{ command: 'true', workingDir: 'a\0' }, /workingDir/],
  ]
  for (const [body, error] of wrong) t.match(await call('POST', '/process', { body }), { status: 400, body: { error } })
  t.same((await call('GET', '/process')).body, [])
  t.equal((await call('POST', '/process', waited('true', { cwd: 7 }))).status, 200, 'unknown fields are ignored')
})

t.test('a running name is taken; a finished one is free and its output keeps to its pid', async t => {
  const { call } = await processDaemon(t)
  const first = await call('POST', '/process', waited('echo first', { name: 'job' }))
  const second = await call('POST', '/process', { body: { command: 'echo second; exec sleep 300', name: 'job' } })
  t.equal(second.status, 200)
  t.match(await call('POST', '/process', { body: { command: 'true', name: 'job' } }), {
    status: 400,
    body: { error: /already exists and is running/ },
  })
  t.equal((await call('GET', '/process/job')).body.pid, second.body.pid, 'the latest start has the name')
  t.equal((await call('DELETE', '/process/job')).status, 200)
  t.equal((await call('GET', '/process/job/logs/stream')).text.includes('first'), false, 'nothing of the run before')
  t.equal((await call('GET', `/process/${first.body.pid}/logs`)).body.stdout, 'first\n')
  t.equal((await call('GET', `/process/${first.body.pid}/logs/stream`)).text, 'stdout:first\n')
})

t.test('names that would collide or escape as files keep their own output', async t => {
  const { call } = await processDaemon(t)
  const names = ['a', 'a.stdout', 'a~1', '.hidden', 'ü b%2F', 'x'.repeat(255), `${'x'.repeat(254)}y`]
  for (const name of names) await call('POST', '/process', waited(`echo "i am ${name}"`, { name }))
  for (const name of names) {
    const { body } = await call('GET', `/process/${encodeURIComponent(name)}/logs`)
    t.equal(body.stdout, `i am ${name}\n`)
  }
})

t.test('an identifier that is a number is a pid and nothing else', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', waited('true', { name: '123456789' }))
  t.equal((await call('GET', '/process/123456789')).status, 404)
})

t.test('an unknown process is 404 everywhere', async t => {
  const { call } = await processDaemon(t)
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['DELETE', '/kill'],
    ['GET', '/logs'],
    ['GET', '/logs/stream'],
    ['POST', '/stdin'],
    ['DELETE', '/stdin'],
  ] as const)
    t.match(await call(method, `/process/nobody${path}`), { status: 404, body: { error: /nobody/ } })
})

t.test('a long output is cut to its tail in objects and whole in the logs', async t => {
  const { call } = await processDaemon(t)
  const { body } = await call('POST', '/process', waited('seq 1 40000', { name: 'long' }))
  const whole = Array.from({ length: 40_000 }, (_, index) => `${index + 1}\n`).join('')
  t.equal(body.stdout, whole)
  const { stdout } = (await call('GET', '/process/long')).body
  t.match(stdout, /^\[\.\.\. truncated \d+ bytes\]\n/)
  t.equal(stdout.slice(stdout.indexOf('\n') + 1), whole.slice(-64 * 1024))
  t.equal((await call('GET', '/process/long/logs')).body.stdout, whole)
})
