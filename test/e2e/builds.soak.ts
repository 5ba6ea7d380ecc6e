/** Builds that end in other ways than by themselves: the server is killed, the record is deleted, another upload takes its place. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ask, send, statuses, until } from '../support/builds.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'
import { zipOf } from '../support/zip.ts'

skipFile(whyNoMachines())

const s = await server(t)
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const slow = { Dockerfile: 'FROM busybox\nRUN echo begun && sleep 8\nRUN echo done >/done\n' }
const spec = { runtime: { memory: 256 } }
const logOf = async (name: string) => (await s.call('GET', `/v0/builds/sandbox/${name}/log`)).text
const uploads = () => readdirSync(join(s.dataDir, 'builds', 'uploads'))
const begun = async (name: string) => {
  for (let tries = 0; tries < 600 && !/^begun$/m.test(await logOf(name)); tries++) await sleep(100)
}
/** Processes of builders of this server, from the box itself. */
const building = (): string[] =>
  readdirSync('/proc').filter(pid => {
    try {
      const isOurs = readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(s.names.cgroup)
      return isOurs && /buildah|sleep\0?8/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
    } catch {
      return false
    }
  })

t.test('killed in the middle of a build, the next start builds it', async t => {
  const asked = await ask(s, 'POST', '/v0/sandboxes?upload=true', { metadata: { name: 'killed' }, spec })
  t.equal(await send(asked.url, zipOf(slow)), 200)
  await begun('killed')
  await s.kill()
  t.equal(uploads().length, 1)
  await s.start()
  t.equal((await s.call('GET', '/v0/sandboxes/killed')).body.status, 'BUILDING')
  const body = await until(s, '/v0/sandboxes/killed', one => ['DEPLOYED', 'FAILED'].includes(one.status))
  t.same(statuses(body), ['UPLOADING', 'BUILDING', 'DEPLOYING', 'DEPLOYED'], JSON.stringify(body.events))
  t.same(building(), [])
  t.same(uploads(), [])
})

t.test('an upload that a killed server waits for can still be sent', async t => {
  const asked = await ask(s, 'POST', '/v0/sandboxes?upload=true', { metadata: { name: 'waiting' }, spec })
  await s.kill()
  await s.start()
  const url = new URL(new URL(asked.url).pathname, s.url).href
  t.equal(await send(url, zipOf({ Dockerfile: 'FROM busybox\n' })), 200)
  await until(s, '/v0/sandboxes/waiting', one => one.status === 'DEPLOYED')
})

t.test('deleted in the middle of a build, nothing of it goes on', async t => {
  const asked = await ask(s, 'POST', '/v0/sandboxes?upload=true', { metadata: { name: 'gone' }, spec })
  const fresh = { Dockerfile: slow.Dockerfile.replace('echo begun', 'echo once more; echo begun') }
  t.equal(await send(asked.url, zipOf(fresh)), 200)
  await begun('gone')
  t.ok(building().length > 0, 'it is built')
  t.equal((await s.call('DELETE', '/v0/sandboxes/gone')).status, 200)
  for (let tries = 0; tries < 100 && (building().length > 0 || uploads().length > 0); tries++) await sleep(100)
  t.same(building(), [])
  t.same(uploads(), [])
  t.equal((await s.call('GET', '/v0/images/sandbox/gone')).status, 404)
})

t.test('another upload takes the place of a build; what was deployed serves meanwhile', async t => {
  const put = () => ask(s, 'PUT', '/v0/sandboxes/waiting?upload=true', { metadata: { name: 'waiting' }, spec })
  const first = await put()
  t.equal(await send(first.url, zipOf({ Dockerfile: slow.Dockerfile.replace('begun', 'begun') })), 200)
  const second = await put()
  const ran = await s.call('POST', '/default/sandboxes/waiting/process', {
    command: 'echo still here',
    waitForCompletion: true,
  })
  t.equal(ran.body.logs, 'still here\n')
  t.equal(await send(second.url, zipOf({ Dockerfile: 'FROM busybox\nRUN echo second >/which\n' })), 200)
  await until(s, '/v0/sandboxes/waiting', one => one.status === 'DEPLOYED')
  const which = await s.call('POST', '/default/sandboxes/waiting/process', {
    command: 'cat /which',
    waitForCompletion: true,
  })
  t.equal(which.body.logs, 'second\n')
})
