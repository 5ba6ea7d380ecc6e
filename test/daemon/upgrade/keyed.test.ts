/** A daemon that has a key becomes another: the channel goes on, and only with one that can tell its callers apart. */
import { fstatSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { startCandidate } from '../../../daemon/upgrade/candidate.ts'
import { receiveHandover, sendHandover, writeHandover } from '../../../daemon/upgrade/handover.ts'
import { keyedDaemon } from '../../support/keyed.ts'
import { standIn } from '../../support/stand-in.ts'

const main = resolve(import.meta.dirname, '../../../daemon/main.ts')
const release = (before: string) => `#!${process.execPath} --preserve-symlinks-main
${before}
import(${JSON.stringify(`file://${main}`)})
${'// release\n'.repeat(200)}`

const upgraded = async (t: Test, before = '') => {
  const { url } = await standIn(t, (_, response) => void response.end(release(before)))
  const daemon = await keyedDaemon(t, { env: { HUTCH_RELEASES_URL: url }, environment: { A: '1', B: '1' } })
  const ask = (role: 'client' | 'host', method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: object) =>
    daemon.ask(role, { method, path, ...(body && { body }) })
  await ask('host', 'PUT', '/host/configuration', { environment: { A: '2', PATH: process.env['PATH'] } })
  await ask('client', 'POST', '/process', { command: 'sleep 60', name: 'sleeps' })
  const begun = await ask('client', 'POST', '/upgrade')
  t.equal(begun.status, 200)
  const ended = async () => {
    for (;;) {
      const { lastUpgrade } = (await ask('client', 'GET', '/health').catch(() => undefined))?.body ?? {}
      if (/completed|failed/.test(lastUpgrade?.status)) return lastUpgrade
      await new Promise(done => setTimeout(done, 50))
    }
  }
  return { daemon, ask, last: await ended() }
}

t.test('it goes on with its key, its roles and what the host has configured', async t => {
  const { daemon, ask, last } = await upgraded(t)
  t.match(last, { status: 'completed' })
  t.match(await ask('client', 'GET', '/health'), { body: { upgradeCount: 1 } })
  t.equal((await ask('host', 'GET', '/system/activity')).status, 200)
  t.equal((await ask('client', 'GET', '/system/activity')).status, 403)
  t.match(await ask('client', 'GET', '/process/sleeps'), { body: { status: 'running' } }, 'it knows its processes')
  t.equal((await ask('client', 'DELETE', '/process/sleeps/kill')).status, 200)
  t.same(daemon.unsealed(), [], 'with the key that they are sealed with')
  const { host, port } = daemon.address
  t.equal((await fetch(`http://${host}:${port}/upgrade`, { method: 'POST' })).status, 403, 'a tenant stays one')
  const run = await ask('client', 'POST', '/process', { command: 'printf %s "$A-$B"', waitForCompletion: true })
  t.match(run.body, { stdout: '2-' })
  t.notMatch(readFileSync(`/proc/${daemon.process.pid}/environ`, 'latin1'), daemon.key.toString('base64url'))
})

t.test('a release from before the channel is refused', async t => {
  // Such a one knows nothing of a boot document.
  const { ask, last } = await upgraded(t, 'process.env.HUTCH_BOOT = process.env.HUTCH_HANDOVER = ""')
  t.match(last, { status: 'failed', error: /does not tell the host from a tenant/ })
  t.equal((await ask('host', 'GET', '/system/activity')).status, 200)
})

t.test('the key is in no file on its way', async t => {
  const key = Buffer.alloc(32, 'k').toString('base64url')
  const boot = { channel: { key, port: 1 }, machine: { id: 'm' }, configuration: { environment: { A: 'b' } } }
  const sealKey = Buffer.alloc(32, 's').toString('base64url')
  const sealed = { ...boot, machine: { id: 'm', seal: { key: sealKey, legacy: true } } }
  const sent = sendHandover({ environment: {}, pipes: [], terminals: [], boot })
  const { fd } = JSON.parse(sent.env['HUTCH_HANDOVER'] as string)
  const document = readFileSync(`/proc/self/fd/${fd}`, 'utf8')
  t.notMatch(document, key)
  t.throws(
    () => readFileSync(`/proc/self/fd/${JSON.parse(document).key.fd}`),
    { code: 'ENXIO' },
    'a socket opens for nobody',
  )
  t.same(receiveHandover(sent.env).boot, boot)
  const more = sendHandover({ environment: {}, pipes: [], terminals: [], boot: sealed })
  t.notMatch(readFileSync(`/proc/self/fd/${JSON.parse(more.env['HUTCH_HANDOVER'] as string).fd}`, 'utf8'), sealKey)
  t.same(
    receiveHandover(more.env).boot,
    { ...boot, machine: { id: 'm', seal: { key: sealKey, legacy: false } } },
    'whoever had the key has sealed all that there is',
  )
  const seen = join(t.testdir({}), 'seen')
  const command = ['sh', '-c', `cat /proc/self/fd/4 > ${seen}`]
  await startCandidate({ command, input: undefined, env: process.env, boot: sealed }).ended
  t.match(readFileSync(seen, 'utf8'), /"machine":{"id":"m"}/, 'who only shows what is there is told neither of them')
  t.notMatch(readFileSync(seen, 'utf8'), sealKey)
  // Without its key there is no daemon, rather than one that answers everybody.
  const lost = writeHandover({ environment: {}, pipes: [], terminals: [], boot, key: { fd: 0, inode: 1 } })
  t.throws(
    () => receiveHandover({ HUTCH_HANDOVER: JSON.stringify({ fd: lost, inode: fstatSync(lost).ino }) }),
    /key of the channel/,
  )
})
