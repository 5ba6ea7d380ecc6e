/** Sandboxes made of a registry's image, through the real server and in a real machine. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hostileRegistry, tar } from '../support/hostile-registry.ts'
import { makeRootfs, whyNoMachines } from '../support/machine.ts'
import { server, type Server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const root = makeRootfs(join(t.testdir(), 'rootfs'))
const busybox = execFileSync('tar', ['-C', root, '-c', '.'], { maxBuffer: 64 * 1024 * 1024 })
const passwd = await tar([
  { name: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\napp:x:1000:1000::/srv:/bin/sh\n' },
  { name: 'etc/group', content: 'root:x:0:\napp:x:1000:\n' },
  { name: 'srv', type: 'directory', uid: 1000, gid: 1000 },
])
const registry = await hostileRegistry(t)
registry.serve('team/app', [busybox, passwd], ({ config }) => {
  config.config = {
    Env: ['GREETING=hi', 'PATH=/bin'],
    WorkingDir: '/srv',
    User: 'app',
    Labels: { org: 'test' },
    Entrypoint: ['sh', '-c', 'echo "$GREETING $0 from $(pwd) as $(id -u)"; exec sleep 1000'],
    Cmd: ["it's"],
  }
})
const image = `${registry.host}/team/app:1`
const address = `/v0/images/_/${encodeURIComponent(`${registry.host}/team/app`)}`
const s = await server(t, { HUTCH_REGISTRIES: `http://${registry.host}`, HUTCH_IMAGE_ALIASES: `app=${image}` })
const create = (name: string, runtime: object, on: Server = s) =>
  on.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime: { memory: 256, ...runtime } } })
const run = async (name: string, command: string) =>
  (await s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })).body.logs

/** Holds back an answer of the registry until `go`. */
const hold = (path: string) => {
  const { promise, resolve: go } = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const answer = registry.answers.get(path)
  registry.answers.set(path, (message, response) => {
    arrived.resolve()
    void promise.then(() => answer?.(message, response))
  })
  return { go, arrived: arrived.promise }
}

t.test('killed in the middle of a pull, the next start begins it anew', async t => {
  const { arrived, go } = hold('/v2/team/app/manifests/1')
  t.match(await create('web', { image, entrypoint: true }), { status: 200, body: { status: 'DEPLOYING' } })
  await arrived
  t.match((await s.call('GET', address)).body, { metadata: { status: 'BUILDING' } })
  const progress = await s.call('GET', `${address}/progress?tag=1`)
  t.match(progress, { status: 200, body: { step: 'manifest', layers: { done: 0 } } })
  await s.kill()
  go()
  await s.start()
  t.ok(registry.answers.size > 0)
  const { events } = await s.until('web', body => body.status === 'DEPLOYED')
  const said = events.map(({ message }: { message: string }) => message)
  t.match(said, [/created/, /image ".*team\/app:1" (waits|is being)/])
  t.equal(said.at(-1), 'deployed')
  t.same(readdirSync(join(s.dataDir, 'images')).sort(), ['names', 'pulled', 'trees'])
})

t.test("environment, directory and labels are the image's; its entrypoint runs as a process of the API", async t => {
  t.equal(await run('web', 'echo $GREETING $(pwd) $(id -u)'), 'hi /srv 0\n')
  const { body } = await s.call('GET', '/default/sandboxes/web/process/entrypoint')
  t.match(body, { name: 'entrypoint', status: 'running', restartOnFailure: true })
  const logs = await s.call('GET', '/default/sandboxes/web/process/entrypoint/logs')
  t.match(logs.body.stdout, "hi it's from /srv as 0\n")
  t.match((await s.call('GET', address)).body, {
    metadata: { name: `${registry.host}/team/app`, status: 'BUILT', createdAt: String },
    spec: { size: Number, tags: [{ name: '1', digest: /^sha256:/, labels: { org: 'test' } }] },
  })
})

t.test("an alias, a program of one's own, and the image's user where the sandbox wants users", async t => {
  const envs = [{ name: 'SVC_SANDBOX_USER_ENABLED', value: 'true' }]
  await create('mine', { image: 'app', entrypoint: ['sh', '-c', 'id -u; exec sleep 1000'], envs })
  await s.until('mine', body => body.status === 'DEPLOYED')
  t.equal(await run('mine', 'id -u'), '1000\n')
  t.equal((await s.call('GET', '/default/sandboxes/mine/process/entrypoint/logs')).body.stdout, '1000\n')
  t.match((await create('none', { image: 'busybox', entrypoint: true })).status, 200)
  const none = await s.until('none', body => body.status === 'FAILED')
  t.match(none.errors.at(-1), { code: 'IMAGE_REFUSED', message: /no entrypoint/, fatal: true })
  t.match(await create('bad', { image, entrypoint: 'serve' }), {
    status: 400,
    body: { message: /spec\.runtime\.entrypoint: must be true/ },
  })
})

t.test('credentials of the workspace are used; a stream tells how far it is', async t => {
  registry.serve('team/private', [busybox])
  const path = '/v2/team/private/manifests/1'
  const answer = registry.answers.get(path)
  const authorization = `Basic ${Buffer.from('me:hush').toString('base64')}`
  registry.answers.set(path, (message, response) => {
    if (message.headers.authorization === authorization) answer?.(message, response)
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end()
  })
  const { go } = hold(path)
  const registries = { metadata: { name: registry.host }, spec: { credentials: { username: 'me', password: 'hush' } } }
  const written = await s.call('POST', '/v0/registries', registries)
  t.match(written, { status: 200, body: { spec: { credentials: { username: '***', password: '***' } } } })
  await create('private', { image: `${registry.host}/team/private:1` })
  const target = `/v0/images/_/${encodeURIComponent(`${registry.host}/team/private`)}/progress?tag=1&follow=true`
  let stream = await fetch(s.url + target, { headers: { authorization: `Bearer ${s.key}` } })
  while (stream.status === 404) stream = await fetch(s.url + target, { headers: { authorization: `Bearer ${s.key}` } })
  t.equal(stream.headers.get('content-type'), 'text/event-stream')
  go()
  const steps = [...(await stream.text()).matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json).step)
  t.same([...new Set(steps.slice(-3))].at(-1), 'done')
  t.ok(steps.includes('layers') && steps.includes('unpack'), steps.join())
  await s.until('private', body => body.status === 'DEPLOYED')
  await s.call('DELETE', '/v0/sandboxes/private')
  await s.until('private', body => body.status === 'TERMINATED')
  t.match(await s.call('DELETE', '/v0/images'), { body: { deleted: 1 } })
})

t.test('what cannot be pulled is FAILED with the cause, or refused at once', async t => {
  await create('lost', { image: `${registry.host}/team/lost:2` })
  const lost = await s.until('lost', body => body.status === 'FAILED')
  t.match(lost.events.at(-1).message, /team\/lost:2" cannot be used: localhost:\d+ does not have it/)
  t.match(await create('far', { image: 'ghcr.io/a/b:1' }), {
    status: 400,
    body: { error: 'IMAGE_REFUSED', message: /ghcr\.io is not among the registries of this host \(HUTCH_REGISTRIES\)/ },
  })
  for (const unknown of ['nope', 'oci:/etc', 'docker-archive:/tmp/x.tar', '/tmp/x.tar'])
    t.match(await create('odd', { image: unknown }), { status: 400, body: { error: 'INVALID_IMAGE' } }, unknown)
})

t.test('images are deleted when nothing is made of them', async t => {
  t.match(await s.call('DELETE', address), { status: 400, body: { message: /in use by sandbox (web|mine)/ } })
  t.match(await s.call('DELETE', '/v0/images'), { status: 200, body: { deleted: 0 } })
  t.match(await s.call('DELETE', '/v0/images/_/busybox'), { status: 400, body: { message: /operator/ } })
  t.equal((await s.call('DELETE', '/v0/images/_/nope')).status, 404)
  t.equal((await s.call('DELETE', `${address}/tags/7`)).status, 404)
  for (const name of ['web', 'mine', 'lost', 'none']) await s.call('DELETE', `/v0/sandboxes/${name}`)
  for (const name of ['web', 'mine', 'lost', 'none']) await s.until(name, body => body.status === 'TERMINATED')
  t.match(await s.call('DELETE', '/v0/images'), {
    status: 200,
    body: { deleted: 1, message: '1 unused image deleted' },
  })
  t.equal((await s.call('GET', address)).status, 404)
  t.equal((await s.call('GET', '/v0/images/_/busybox')).status, 200, 'those of the host stay')
})
