import { readdirSync, readlinkSync } from 'node:fs'
import t from 'tap'
import { openGet, processServer, until } from '../../support/processes.ts'

/** Those that are open, but for files that wait for a name: how many these are changes from moment to moment. */
const descriptors = () =>
  readdirSync('/proc/self/fd').filter(fd => {
    try {
      return !/\/#\d+ \(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`))
    } catch {
      // The descriptor of the directory that was read.
      return false
    }
  }).length

t.test('finished processes, readers that have gone and closed inputs hold no descriptor', async t => {
  const { call, url } = await processServer(t)
  const round = async (index: number) => {
    await call('POST', '/process', {
      body: { command: 'echo out; echo err >&2', name: `done-${index}`, waitForCompletion: true },
    })
    await call('GET', `/process/done-${index}/logs`)
    await call('GET', `/process/done-${index}/logs/stream`)
    await call('POST', '/process', {
      body: { command: 'ls', workingDir: '/no/such', name: `never-${index}`, stdin: true },
    })
    await call('POST', '/process', { body: { command: 'cat', name: `cat-${index}`, stdin: true } })
    const reader = await openGet(t, `${url}/process/cat-${index}/logs/stream`)
    await call('POST', `/process/cat-${index}/stdin`, { body: 'x\n' })
    await reader.seen(/x/)
    reader.close()
    await call('DELETE', `/process/cat-${index}/stdin`)
    await until('the end', async () => (await call('GET', `/process/cat-${index}`)).body.status === 'completed')
  }
  await round(0)
  const settled = await until('the first round to settle', () => descriptors())
  for (let index = 1; index <= 10; index++) await round(index)
  await until(`no more than ${settled} descriptors`, () => descriptors() <= settled + 2)
  t.pass('none is left')
})

t.test('a start that fails leaves neither an entry nor files', async t => {
  const { call, config } = await processServer(t)
  const before = readdirSync(config.logs.dir)
  for (const env of [{ SHELL: '/no/shell' }, {}]) {
    const { status } = await call('POST', '/process', { body: { command: 'true', workingDir: '/no/such', env } })
    t.equal(status, 422)
  }
  const long = await call('POST', '/process', { body: { command: `: ${'x'.repeat(200_000)}` } })
  t.match(long, { status: 422, body: { error: /^failed to start process/ } })
  t.same(readdirSync(config.logs.dir), before)
  t.same((await call('GET', '/process')).body, [])
})

t.test('without a shell the answer says so', async t => {
  const { call } = await processServer(t, { env: { SHELL: '/no/shell' } })
  t.match(await call('POST', '/process', { body: { command: 'true' } }), {
    status: 422,
    body: { error: /shell \/no\/shell does not exist/ },
  })
})

t.test('another shell and its arguments are configuration', async t => {
  const { call } = await processServer(t, { env: { SHELL: 'bash', SHELL_ARGS: '-e  -c' } })
  const { body } = await call('POST', '/process', {
    body: { command: 'echo ${BASH_VERSION:+bash}; false; echo unreachable', waitForCompletion: true },
  })
  t.match(body, { stdout: 'bash\n', exitCode: 1 })
})
