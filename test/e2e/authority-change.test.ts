/** Another authority for the whole host: sandboxes that run trust it from their next request on, and the old one no more. */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const authority = (dir: string, name: string): string => {
  const file = join(dir, `${name}.pem`)
  const options = `-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=${name} -keyout /dev/null`
  execFileSync('openssl', ['req', ...options.split(' '), '-out', file], { stdio: 'ignore' })
  return file
}

t.test('a sandbox that runs is told of the authority that the next start names', async t => {
  const dir = t.testdir()
  const [first, second] = [authority(dir, 'first'), authority(dir, 'second')]
  const named = join(dir, 'named.pem')
  copyFileSync(first, named)
  const s = await server(t, { HUTCH_CA_FILE: named })
  const create = { metadata: { name: 'web' }, spec: { runtime: { image: 'svc/base-image:latest', memory: 512 } } }
  t.equal((await s.call('POST', '/v0/sandboxes', create)).status, 200)
  const run = async (command: string): Promise<string> => {
    const process = { command, waitForCompletion: true, timeout: 60 }
    return (await s.call('POST', `${s.url}/default/sandboxes/web/process`, process)).body.logs
  }
  const trusted = async (): Promise<string[]> =>
    ((await run('cat $SSL_CERT_FILE')).match(/-----BEGIN[^]+?END CERTIFICATE-----/g) ?? [])
      .map(text => new X509Certificate(text).subject)
      .filter(subject => /^CN=(first|second)$/.test(subject))
  t.same(await trusted(), ['CN=first'])
  await run('setsid sleep 1000 > /dev/null 2>&1 & echo $! > /tmp/started')
  await s.stop()
  copyFileSync(second, named)
  await s.start()
  t.same(await trusted(), ['CN=second'])
  t.match(await run('kill -0 $(cat /tmp/started) && echo runs'), /runs/, 'the machine is the same, and went on')
})
