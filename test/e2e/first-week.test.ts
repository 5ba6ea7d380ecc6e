/** What people meet in their first week, on real machines: each sub-test is one scene of issue 29. */
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const MiB = 1024 * 1024

t.test('a cut form leaves the old checksum', async t => {
  const s = await server(t)
  await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'cut' },
    spec: { runtime: { image: 'busybox', memory: 256 } },
  })
  const box = `${s.url}/default/sandboxes/cut`
  const run = async (command: string): Promise<string> => {
    const body = { command, waitForCompletion: true }
    return (await s.call('POST', '/default/sandboxes/cut/process', body)).body.logs
  }
  const old = await run(
    'mkdir /cut; head -c 3000000 /dev/urandom > /cut/f.bin; chmod 750 /cut/f.bin; sha256sum /cut/f.bin',
  )
  t.match(old, /^[0-9a-f]{64} /)

  const start = Buffer.concat([
    Buffer.from('--XyZ\r\nContent-Disposition: form-data; name="file"; filename="new.bin"\r\n\r\n'),
    randomBytes(MiB),
  ])
  const asked = request(`${box}/filesystem//cut/f.bin`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${s.key}`,
      'content-type': 'multipart/form-data; boundary=XyZ',
      'content-length': 8 * MiB,
    },
  })
  // The connection is cut on purpose.
  asked.on('error', () => {})
  const closed = new Promise(resolve => asked.once('close', resolve))
  asked.write(start)
  await sleep(1_000)
  t.equal(await run('sha256sum /cut/f.bin'), old, 'readers see the old content while the form is on its way')
  asked.destroy()
  await closed
  await sleep(500)
  t.equal(await run('sha256sum /cut/f.bin'), old, 'and after the form was cut')
  t.equal(await run('ls -A /cut; stat -c %a /cut/f.bin'), 'f.bin\n750\n', 'nothing else is left, and the mode is kept')
  await s.call('DELETE', '/v0/sandboxes/cut')
})
