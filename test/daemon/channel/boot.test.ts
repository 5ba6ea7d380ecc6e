/** What the host gives to a daemon at its start, and what becomes of it. */
import { readFileSync, readlinkSync } from 'node:fs'
import t from 'tap'
import { keyedDaemon, startKeyed } from '../../support/keyed.ts'

t.test('the environment is the workload’s, and stands in no file of the daemon', async t => {
  const daemon = await keyedDaemon(t, { environment: { TOP: 'top-secret', HUTCH_X: 'no' }, env: { OWN: 'own' } })
  const { address, connections, key } = daemon
  const body = JSON.stringify({ command: 'printf %s "$TOP-$HUTCH_X-$HUTCH_BOOT"', waitForCompletion: true })
  const headers = { 'content-type': 'application/json' }
  const answer = await connections.pool({ address }).request({ method: 'POST', path: '/process', body, headers })
  t.match(await answer.body.json(), { stdout: 'top-secret--' })
  const of = (name: string) => readFileSync(`/proc/${daemon.process.pid}/${name}`, 'latin1')
  for (const name of ['environ', 'cmdline']) {
    t.notMatch(of(name), /top-secret/, name)
    t.notOk(of(name).includes(key.toString('base64url')), name)
  }
  t.equal(readlinkSync(`/proc/${daemon.process.pid}/fd/0`), '/dev/null', 'it is closed when it is read')
  t.notOk(daemon.said().includes(key.toString('base64url')))
})

t.test('a daemon that is to have a document does not start without it', async t => {
  const key = 'k'.repeat(43)
  const whole = {
    channel: { key, port: 1 },
    machine: { id: 'm' },
    configuration: { environment: { A: 'quoted-secret' } },
  }
  for (const [name, input] of Object.entries({
    nothing: '',
    'half of it': JSON.stringify(whole).slice(0, -3),
    'no key': JSON.stringify({ ...whole, channel: { port: 1 } }),
    'a short key': JSON.stringify({ ...whole, channel: { key: 'AAAA', port: 1 } }),
    'no machine': JSON.stringify({ ...whole, machine: {} }),
    'a text for its memory': JSON.stringify({ ...whole, machine: { id: 'm', memoryBytes: '1' } }),
    'half a seal': JSON.stringify({ ...whole, machine: { id: 'm', seal: { key } } }),
    'a short seal': JSON.stringify({ ...whole, machine: { id: 'm', seal: { key: 'AAAA', legacy: false } } }),
    'no environment': JSON.stringify({ ...whole, configuration: {} }),
    'a number in it': JSON.stringify({ ...whole, configuration: { environment: { A: 1 } } }),
    'half an identity': JSON.stringify({ ...whole, configuration: { environment: {}, identity: { name: 'a' } } }),
    null: 'null',
  })) {
    const started = await startKeyed(t, { input })
    const [code] = await started.ended
    t.equal(code, 1, name)
    t.match(started.said(), /the boot document is not/, name)
    t.notMatch(started.said(), /daemon\.listening|quoted-secret/, name)
  }
})

t.test('a daemon whose channel has no port does not start either', async t => {
  const first = await keyedDaemon(t)
  const { port } = first.address.channel
  const input = JSON.stringify({
    channel: { key: first.key.toString('base64url'), port },
    machine: { id: 'm' },
    configuration: { environment: {} },
  })
  const second = await startKeyed(t, { input })
  t.equal((await second.ended)[0], 1)
  t.match(second.said(), /EADDRINUSE/)
})
