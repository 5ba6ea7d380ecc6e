import { readFileSync } from 'node:fs'
import t from 'tap'
import { readStat } from '../../../daemon/proc/stat.ts'
import { processDaemon, until } from '../../support/processes.ts'

/** Not there, or only waiting for whoever inherited it to notice. */
const gone = (pid: string) => ['Z', 'X', undefined].includes(readStat(Number(pid))?.state)

t.test('stop ends with SIGTERM and kill with SIGKILL, for good', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', { body: { command: 'sleep 300', name: 'a', restartOnFailure: true, maxRestarts: 5 } })
  t.match(await call('DELETE', '/process/a'), { status: 200, body: { message: 'Process stopped successfully' } })
  const stopped = await until('the stop', async () => {
    const { body } = await call('GET', '/process/a')
    return body.completedAt !== '' && body
  })
  t.match(stopped, { status: 'stopped', exitCode: -1, restartCount: 0, completedAt: /GMT$/ })

  await call('POST', '/process', { body: { command: 'trap "" TERM; echo up; while :; do sleep 1; done', name: 'b' } })
  await until('the trap', async () => (await call('GET', '/process/b')).body.stdout === 'up\n')
  t.equal((await call('DELETE', '/process/b')).status, 200)
  const disobeying = (await call('GET', '/process/b')).body
  t.match(disobeying, { status: 'stopped', completedAt: '', exitCode: 0 }, 'asked to stop is stopped')
  t.notOk(gone(disobeying.pid), 'but it has not obeyed, and nothing else was done')
  t.match(await call('DELETE', '/process/b/kill'), { status: 200, body: { message: 'Process killed successfully' } })
  const killed = await until('the kill', async () => {
    const { body } = await call('GET', '/process/b')
    return body.completedAt !== '' && body
  })
  t.match(killed, { status: 'killed', exitCode: -1 })
})

t.test('the name of a process that takes its time to stop is free at once', async t => {
  const { call } = await processDaemon(t)
  const command = 'trap "echo ending" TERM; echo old; while :; do sleep 0.1; done'
  const { body: old } = await call('POST', '/process', { body: { command, name: 'web' } })
  await until('the trap', async () => (await call('GET', '/process/web')).body.stdout === 'old\n')
  t.match(await call('POST', '/process', { body: { command, name: 'web' } }), { status: 400 }, 'not while it runs')
  await call('DELETE', '/process/web')
  const { status, body } = await call('POST', '/process', {
    body: { command: 'echo new', name: 'web', waitForCompletion: true },
  })
  t.match({ status, body }, { status: 200, body: { status: 'completed', logs: 'new\n' } })
  t.equal((await call('GET', '/process/web')).body.pid, body.pid)
  await until('the old one', async () => /ending/.test((await call('GET', `/process/${old.pid}`)).body.stdout))
  t.equal((await call('GET', `/process/${body.pid}/logs`)).body.stdout, 'new\n', 'each has its own output')
  t.equal((await call('DELETE', `/process/${old.pid}/kill`)).status, 200)
  await until('the end', () => gone(old.pid))
})

t.test('what is finished can be neither stopped nor killed', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', { body: { command: 'true', name: 'a', waitForCompletion: true } })
  t.match(await call('DELETE', '/process/a'), { status: 404 })
  t.match(await call('DELETE', '/process/a/kill'), { status: 404 })
  t.match((await call('GET', '/process/a')).body, { status: 'completed', exitCode: 0 })
})

t.test('the children of the shell end with it', async t => {
  const { call } = await processDaemon(t)
  await call('POST', '/process', { body: { command: 'sh -c "sleep 301 & echo \\$!; wait" & wait', name: 'tree' } })
  const pid = await until('the grandchild', async () => (await call('GET', '/process/tree')).body.stdout.trim())
  await call('DELETE', '/process/tree/kill')
  await until('the end of the grandchild', () => gone(pid))
  t.pass('gone')
})

t.test('a failing process is restarted as often as was asked', async t => {
  const { call, dir } = await processDaemon(t)
  const [failing, recovering] = await Promise.all([
    call('POST', '/process', {
      body: {
        command: 'echo "run $WHO"; exit 1',
        env: { WHO: 'me' },
        restartOnFailure: true,
        maxRestarts: 2,
        waitForCompletion: true,
      },
    }),
    call('POST', '/process', {
      body: {
        command: `echo x >> ${dir}/count; [ $(wc -l < ${dir}/count) = 2 ]`,
        restartOnFailure: true,
        maxRestarts: -1,
        waitForCompletion: true,
      },
    }),
  ])
  t.match(failing.body, { status: 'failed', exitCode: 1, restartCount: 2, maxRestarts: 2 })
  t.equal(
    failing.body.stdout,
    [
      'run me\n\n[Process failed with exit code 1. Attempting restart 1/2...]\n',
      'run me\n\n[Process failed with exit code 1. Attempting restart 2/2...]\n',
      'run me\n',
    ].join(''),
  )
  t.match(recovering.body, { status: 'completed', exitCode: 0, restartCount: 1 })
  t.match(recovering.body.logs, 'Attempting restart 1/unlimited...')
  const list = (await call('GET', '/process')).body
  t.equal(list.length, 2, 'one entry each')
  t.ok(list.some((one: { pid: string }) => one.pid === failing.body.pid))
  t.equal((await call('GET', `/process/${failing.body.pid}/logs/stream`)).text.match(/stdout:run me\n/g)?.length, 3)
})

t.test('a restarted process is signalled by the pid it has now', async t => {
  const { call, dir } = await processDaemon(t)
  const command = `[ -e ${dir}/second ] && echo again && exec sleep 300; touch ${dir}/second; exit 3`
  const { body } = await call('POST', '/process', {
    body: { command, name: 'r', restartOnFailure: true, maxRestarts: 1 },
  })
  await until('the second run', async () => /again/.test((await call('GET', '/process/r/logs')).body.stdout))
  t.equal((await call('DELETE', `/process/${body.pid}`)).status, 200)
  const end = await until('the end', async () => {
    const now = (await call('GET', '/process/r')).body
    return now.completedAt !== '' && now
  })
  t.match(end, { status: 'stopped', pid: body.pid })
})

t.test('a wait is bounded by the timeout, and the process goes on', async t => {
  const { call } = await processDaemon(t)
  const late = await call('POST', '/process', {
    body: { command: 'sleep 300', name: 'slow', waitForCompletion: true, timeout: 1 },
  })
  t.match(late, { status: 422, body: { error: /timed out/ } })
  t.equal((await call('GET', '/process/slow')).body.status, 'running')
  t.equal((await call('DELETE', '/process/slow/kill')).status, 200)
})

t.test('a timeout longer than a timer can hold is no timeout that is over', async t => {
  const { call } = await processDaemon(t)
  for (const timeout of [3_000_000, 1_000_000_000_000]) {
    const body = { command: 'sleep 0.1', waitForCompletion: true, timeout }
    t.match(await call('POST', '/process', { body }), { status: 200, body: { status: 'completed' } }, String(timeout))
  }
})

t.test('a wait for ports says so when keepAlive has ended the process', async t => {
  const { call } = await processDaemon(t)
  const body = { command: 'sleep 300', keepAlive: true, timeout: 1, waitForPorts: [1] }
  t.match(await call('POST', '/process', { body }), { status: 422, body: { error: /timed out/ } })
})

t.test('keepAlive holds the machine awake until the timeout kills the process', async t => {
  const { call, config } = await processDaemon(t)
  const counter = () => readFileSync(config.scaleFile, 'utf8')
  await until('the reset', () => counter().includes('=0'))
  const { body } = await call('POST', '/process', {
    body: { command: 'sleep 300', keepAlive: true, timeout: 1, waitForCompletion: true },
  })
  t.match(body, { status: 'killed', keepAlive: false, exitCode: -1 })
  await call('POST', '/process', { body: { command: 'exit 3', keepAlive: true, timeout: 0, waitForCompletion: true } })
  await call('POST', '/process', { body: { command: 'sleep 300', name: 'k', keepAlive: true } })
  await call('DELETE', '/process/k')
  await until('one release for each hold', () => counter().match(/[+-]/g)?.join('') === '+-+-+-')
})

t.test('keepAlive can be switched off for a sandbox', async t => {
  const { call } = await processDaemon(t, { env: { SVC_DISABLE_KEEPALIVE: 'true' } })
  t.match(await call('POST', '/process', { body: { command: 'true', keepAlive: true } }), {
    status: 400,
    body: { error: /keepAlive is not available/ },
  })
  t.equal((await call('POST', '/process', { body: { command: 'true' } })).status, 200)
})

const server = `node -e "setTimeout(() => require('net').createServer(s => s.end('hi')).listen(+process.argv[1], process.argv[2]), +process.argv[3])"`
const freePort = async () => {
  const { createServer } = await import('node:net')
  const probe = createServer().listen(0)
  const { port } = probe.address() as { port: number }
  await new Promise(resolve => probe.close(resolve))
  return port
}

t.test('an answer waits for ports that the process or its children serve', async t => {
  const { call } = await processDaemon(t)
  const port = await freePort()
  const { status } = await call('POST', '/process', {
    body: { command: `${server} ${port} 0.0.0.0 50; true`, waitForPorts: [port] },
  })
  t.equal(status, 200)
  const { connect } = await import('node:net')
  const socket = connect(port, '127.0.0.1')
  const [data] = await new Promise<[Buffer]>((resolve, reject) => {
    socket.once('data', piece => resolve([piece])).once('error', reject)
  })
  t.equal(data.toString(), 'hi')
  socket.destroy()
})

t.test('a wait for ports ends with the time or with the process', async t => {
  const { call } = await processDaemon(t)
  const port = await freePort()
  t.match(await call('POST', '/process', { body: { command: 'exit 7', waitForPorts: [port] } }), {
    status: 422,
    body: { error: /ended \(exit code 7\) before port/ },
  })
  const loopback = { command: `${server} ${port} 127.0.0.1 0`, waitForPorts: [port], timeout: 1, name: 'local' }
  t.match(await call('POST', '/process', { body: loopback }), {
    status: 422,
    body: { error: /timed out.*127\.0\.0\.1 does not count/ },
  })
  t.equal((await call('GET', '/process/local')).body.status, 'running')
})
