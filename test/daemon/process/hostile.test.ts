/** What tenants do to a daemon: floods, forks, and its log files. */
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { events, openGet, processDaemon, processServer, until } from '../../support/processes.ts'

const MiB = 1024 * 1024
const onDisk = (dir: string) => readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).blocks * 512, 0)

const groupOf = (pid: string): string | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[2]
  } catch {
    // It ended meanwhile.
    return undefined
  }
}

t.test('a flood stays within the budget of the disk, and the daemon answers', async t => {
  const { call, url, config } = await processServer(t, {
    env: { SANDBOX_MAX_LOG_FILE_BYTES: String(2 * MiB), SANDBOX_MAX_LOG_BYTES_TOTAL: String(6 * MiB) },
  })
  await call('POST', '/process', { body: { command: 'echo first; yes "a line of the flood"', name: 'flood' } })
  const reader = await openGet(t, `${url}/process/flood/logs/stream`)
  reader.message.pause()
  for (let round = 0; round < 20; round++)
    t.equal(
      (await call('POST', '/process', { body: { command: 'echo alive', waitForCompletion: true } })).body.stdout,
      'alive\n',
    )
  await until('more than the budget', async () => statSync(join(config.logs.dir, 'flood.stdout.log')).size > 32 * MiB)
  await call('DELETE', '/process/flood/kill')
  await until('the end', async () => (await call('GET', '/process/flood')).body.status === 'killed')
  const kept = onDisk(config.logs.dir)
  t.ok(kept <= 8 * MiB, `${kept} bytes are kept`)
  const { text } = await call('GET', '/process/flood/logs/stream')
  t.match(text.slice(0, 200), /^stdout:\[\.\.\. truncated \d+ bytes/)
  t.notOk(text.includes('\0'))
  const strange = text
    .split('\n')
    .slice(1, -1)
    .filter(line => line !== 'stdout:a line of the flood' && !line.startsWith('stdout:[... truncated'))
  t.ok(
    strange.length <= 2 * (text.match(/truncated/g)?.length ?? 0),
    `only lines cut by a gap differ: ${strange.slice(0, 3)}`,
  )
})

t.test('a burst of forks ends with its group', async t => {
  const { call } = await processDaemon(t)
  // Five generations that live on: bounded, since a test must not be the bomb itself.
  const bomb = 'f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; exec sleep 300; }; f 5'
  await call('POST', '/process', { body: { command: bomb, name: 'bomb' } })
  t.equal(
    (await call('POST', '/process', { body: { command: 'echo alive', waitForCompletion: true } })).body.stdout,
    'alive\n',
  )
  const { body } = await call('GET', '/process/bomb')
  t.equal((await call('DELETE', '/process/bomb/kill')).status, 200)
  await until('the end of the group', () => {
    const members = readdirSync('/proc').filter(name => /^\d+$/.test(name) && groupOf(name) === body.pid)
    return members.length === 0
  })
  t.pass('nobody is left')
})

t.test('log files that a tenant tampers with harm nobody', async t => {
  const { call, config, dir } = await processDaemon(t)
  const logs = config.logs.dir
  const secret = join(dir, 'secret')
  writeFileSync(secret, 'not for readers')
  await call('POST', '/process', { body: { command: 'echo out', name: 'gone', waitForCompletion: true } })
  for (const name of ['gone.log', 'gone.stdout.log', 'gone.stderr.log']) rmSync(join(logs, name))
  t.equal((await call('GET', '/process/gone')).status, 200)
  t.equal((await call('GET', '/process/gone/logs/stream')).status, 200)

  await call('POST', '/process', { body: { command: 'echo out', name: 'linked', waitForCompletion: true } })
  rmSync(join(logs, 'linked.stdout.log'))
  symlinkSync(secret, join(logs, 'linked.stdout.log'))
  for (const path of ['', '/logs', '/logs/stream?stream=stdout'])
    t.notOk((await call('GET', `/process/linked${path}`)).text.includes('not for readers'), path)
  t.equal((await call('GET', '/process')).status, 200, 'one broken entry does not hide the others')

  symlinkSync(secret, join(logs, 'planted.stdout.log'))
  const planted = await call('POST', '/process', {
    body: { command: 'echo mine', name: 'planted', waitForCompletion: true },
  })
  t.equal(planted.body.stdout, 'mine\n')
  t.equal(statSync(secret).size, 'not for readers'.length, 'nothing was written through the link')

  await call('POST', '/process', { body: { command: 'echo before; exec sleep 300', name: 'cut' } })
  await until('its output', async () => (await call('GET', '/process/cut')).body.stdout === 'before\n')
  truncateSync(join(logs, 'cut.stdout.log'))
  t.equal((await call('GET', '/process/cut')).status, 200)
  t.equal((await call('DELETE', '/process/cut')).status, 200)

  rmSync(logs, { recursive: true })
  t.equal(
    (await call('POST', '/process', { body: { command: 'echo again', waitForCompletion: true } })).body.stdout,
    'again\n',
  )
})

t.test('a command that leaves children behind does not keep its reader waiting', async t => {
  const { call } = await processDaemon(t)
  const answer = await call('POST', '/process', {
    body: { command: 'sleep 300 & echo $!' },
    headers: { accept: 'text/event-stream' },
  })
  const pid = Number(events(answer.text).find(({ type }) => type === 'stdout')?.data)
  t.teardown(() => process.kill(pid, 'SIGKILL'))
  t.equal(events(answer.text).at(-1)?.type, 'result')
})

t.test('what children write after the end is still to be read', async t => {
  const { call } = await processDaemon(t)
  const command = '(sleep 0.3; echo late; exec sleep 0.3) & echo early'
  const { body } = await call('POST', '/process', { body: { command, waitForCompletion: true } })
  t.equal(body.stdout, 'early\n')
  await until('the late line', async () => (await call('GET', `/process/${body.pid}`)).body.stdout === 'early\nlate\n')
  t.equal((await call('GET', `/process/${body.pid}/logs/stream`)).text, 'stdout:early\nstdout:late\n')
})

const notRoot = process.geteuid?.() === 0 ? false : 'only root can start processes of another user'

t.test(
  'a fork bomb of an unprivileged user does not keep others from running, and can be ended',
  { skip: notRoot },
  async t => {
    const { call } = await processDaemon(t, { argv: ['--user', '64321'] })
    const bomb = `bash -c 'ulimit -u 80; f() { f | f & }; f; wait; sleep 300'`
    const { body } = await call('POST', '/process', { body: { command: bomb, name: 'bomb', workingDir: '/tmp' } })
    await until('the limit', async () =>
      /Resource temporarily unavailable/.test((await call('GET', '/process/bomb/logs')).body.stderr),
    )
    const alive = await call('POST', '/process', {
      body: { command: 'id -u', waitForCompletion: true, workingDir: '/tmp' },
    })
    t.equal(alive.body.stdout, '64321\n')
    await call('DELETE', '/process/bomb/kill')
    await until('the end of the group', () =>
      readdirSync('/proc').every(name => !/^\d+$/.test(name) || groupOf(name) !== body.pid),
    )
    t.pass('nobody is left')
  },
)

t.test('a command that the kernel takes no more says what to do', async t => {
  const { call } = await processDaemon(t)
  const command = `true ${'x'.repeat(512 * 1024)}`
  t.match(await call('POST', '/process', { body: { command } }), {
    status: 422,
    body: { error: /failed to start process.*128 KiB.*file/ },
  })
  t.same((await call('GET', '/process')).body, [], 'nothing was started')
})

t.test('what is written to /dev/stderr comes, and takes nothing away', async t => {
  const { call, dir } = await processDaemon(t)
  const command = `echo much of it first >&2; until [ -e ${dir}/go ]; do sleep 0.02; done; echo x > /dev/stderr; echo y >&2`
  await call('POST', '/process', { body: { command, name: 'p' } })
  await until('the first', async () => (await call('GET', '/process/p')).body.stderr === 'much of it first\n')
  writeFileSync(join(dir, 'go'), '')
  const lines = 'stderr:much of it first\nstderr:x\nstderr:y\n'
  t.equal((await call('GET', '/process/p/logs/stream')).text, lines)
  t.match((await call('GET', '/process/p/logs')).body, { stderr: /x\ny\n$/ })
})

t.test('the list stays readable when very many have written much', async t => {
  const { call } = await processDaemon(t)
  const command = "head -c 70000 /dev/zero | tr '\\0' x; echo end"
  const start = () => call('POST', '/process', { body: { command, waitForCompletion: true } })
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 8 }, start))
  const { status, body } = await call('GET', '/process')
  t.equal(status, 200)
  t.equal(body.length, 160)
  const stdout: string[] = body.map((one: { stdout: string }) => one.stdout)
  t.ok(stdout.every(text => /^\[\.\.\. truncated \d+ bytes\]\nx+end\n$/.test(text)))
  t.ok(stdout.reduce((sum, text) => sum + text.length, 0) <= 16 * MiB)
  const one = (await call('GET', `/process/${body[0].pid}`)).body.stdout
  t.ok(one.length > 65_536, 'each by itself has all of its tail')
})
