import '../../support/native.ts'
import { mkdtempSync, chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemon } from '../../support/daemon.ts'

const skip = process.getuid?.() !== 0 && 'needs root'

t.test('the filesystem API works with the rights of the workload user', { skip }, async t => {
  const dir = mkdtempSync('/tmp/identity-')
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  chmodSync(dir, 0o777)
  mkdirSync(join(dir, 'private'), { mode: 0o700 })
  writeFileSync(join(dir, 'private/secret'), 'secret')
  writeFileSync(join(dir, 'secret'), 'secret', { mode: 0o600 })
  const { call } = await daemon(t, { argv: ['--user', '4711:4712'] })
  const at = (name: string) => `/filesystem${join(dir, name).replaceAll('/', '%2F')}`

  t.match(await call('PUT', at('new/file'), { body: { content: 'mine' } }), { status: 200 })
  t.match(statSync(join(dir, 'new/file')), { uid: 4711, gid: 4712 })
  t.match(statSync(join(dir, 'new')), { uid: 4711, gid: 4712 })
  t.match(await call('GET', at('new/file')), { status: 200, body: { content: 'mine' } })

  for (const name of ['secret', 'private/secret', 'private']) {
    const answer = await call('GET', at(name))
    t.not(answer.status, 200, name)
    t.notMatch(answer.text, /"content":"secret"/)
  }
  t.not((await call('PUT', at('secret'), { body: { content: 'overwritten' } })).status, 200)
  t.not((await call('PUT', '/filesystem%2Froot%2Fby-identity-test', { body: { content: 'x' } })).status, 200)
  t.not((await call('DELETE', `${at('private')}?recursive=true`)).status, 200)
  t.equal(readFileSync(join(dir, 'secret'), 'utf8'), 'secret')
  t.equal(readFileSync(join(dir, 'private/secret'), 'utf8'), 'secret')
})

t.test('a daemon that was given root or an unknown user does not start', async t => {
  for (const user of ['root', '0', 'no-such-user'])
    await t.rejects(daemon(t, { argv: ['--user', user] }), { code: 'invalid_argument' }, user)
})

t.test('processes are that user, whatever a request says, and may open their own output', { skip }, async t => {
  const { call, config } = await daemon(t, { argv: ['--user', '4711:4712'] })
  const run = async (command: string, more: object = {}) =>
    (await call('POST', '/process', { body: { command, workingDir: '/', waitForCompletion: true, ...more } })).body
  const tricks = { HOME: '/root', USER: 'root', LOGNAME: 'root', UID: '0', PATH: '/bin:/usr/bin' }
  t.equal(
    (await run('id -u; id -g; echo $HOME $USER $LOGNAME', { user: 'root', env: tricks })).stdout,
    '4711\n4712\n/ 4711 4711\n',
  )
  t.not((await run('cat /proc/$PPID/environ')).exitCode, 0)
  t.match(await run('echo out > /dev/stdout; echo err > /dev/stderr', { name: 'own' }), {
    stdout: 'out\n',
    stderr: 'err\n',
    exitCode: 0,
  })
  const { uid, gid, mode } = statSync(join(config.logs.dir, 'own.stdout.log'))
  t.same({ uid, gid, mode: mode & 0o777 }, { uid: 0, gid: 4712, mode: 0o664 })
  t.equal(statSync(join(config.logs.dir, 'own.log')).mode & 0o777, 0o644, "the combined log is nobody else's")
})
