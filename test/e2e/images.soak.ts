/** kill -9 of the real server at many moments of a pull: nothing half done is ever used, and nothing of it is left. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hostileRegistry, tar } from '../support/hostile-registry.ts'
import { makeRootfs, whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const root = makeRootfs(join(t.testdir(), 'rootfs'))
const busybox = execFileSync('tar', ['-C', root, '-c', '.'], { maxBuffer: 64 * 1024 * 1024 })
const count = 20_000
const files = await tar(Array.from({ length: count }, (_, at) => ({ name: `many/${at}`, content: String(at) })))
const registry = await hostileRegistry(t)
registry.serve('app', [busybox, files])
const image = `${registry.host}/app:1`

/** Programs that unpack below that directory. */
const unpackers = (dir: string): string[] =>
  readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid))
    .flatMap(pid => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return words.includes('umoci') && readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(dir) ? [words] : []
      } catch {
        // It ended meanwhile.
        return []
      }
    })

t.test('killed at any moment of a pull, the next start pulls it whole', async t => {
  const s = await server(t, { HUTCH_REGISTRIES: `http://${registry.host}`, HUTCH_STANDBY_SECONDS: '600' })
  const own = join(s.dataDir, 'images')
  let unpacking = 0
  for (let moment = 0; moment <= 3_000; moment += 200) {
    const name = `k${moment}`
    t.equal(
      (await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime: { image, memory: 256 } } })).status,
      200,
    )
    await sleep(moment)
    await s.kill()
    if (readdirSync(own).some(one => one.startsWith('.new-') && readdirSync(join(own, one)).includes('jail')))
      unpacking++
    await until(async () => unpackers(own).length === 0, 'what unpacks to end with the server')
    await s.start()
    await s.until(name, body => body.status === 'DEPLOYED')
    const command = 'ls /many | awk "END { print NR }"'
    const { body } = await s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })
    t.equal(body.logs, `${count}\n`, `whole after a kill ${moment} ms into it`)
    t.same(readdirSync(own).sort(), ['names', 'pulled', 'trees'])
    await s.call('DELETE', `/v0/sandboxes/${name}`)
    await s.until(name, body => body.status === 'TERMINATED')
    t.match((await s.call('DELETE', '/v0/images')).body, { deleted: 1 })
  }
  t.ok(unpacking > 0, `killed while it was unpacked: ${unpacking} times`)
})
