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
