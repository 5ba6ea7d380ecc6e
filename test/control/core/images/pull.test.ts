/** Images of a registry of the tests' own, with a certificate that only `HUTCH_CA_FILE` makes trusted, and a password. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { pullingStore, reasonOf, settle } from '../../../support/pulls.ts'
import { login, registry, registryBinary } from '../../../support/registry.ts'

const binary = registryBinary()
if (!binary || process.getuid?.() !== 0) {
  const why = binary ? 'needs root' : 'needs docker-registry'
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

const dir = t.testdir()
const r = await registry(t, binary, join(dir, 'registry'))
const config = ['--config.env', 'GREETING=hi', '--config.workingdir', '/srv', '--config.user', 'app']
r.push(
  'team/app:1',
  rootfs => {
    mkdirSync(join(rootfs, 'etc'))
    writeFileSync(join(rootfs, 'etc/motd'), 'hello\n')
  },
  [...config, '--config.label', 'org=test', '--config.entrypoint', '/bin/serve', '--config.cmd', '--now'],
)

t.test('a private image is for workspaces whose credentials can read it', async t => {
  const registries = [{ host: 'localhost', port: Number(r.host.split(':')[1]), plain: false }]
  const { images, own, again, logins, clock } = await pullingStore(t, { registries, caFile: r.caFile })
  const reference = `${r.host}/team/app:1`
  const gets = () => (r.log().match(/http.request.method=GET[^\n]*blobs/g) ?? []).length
  logins.set('red', { ...login, version: '1' })
  logins.set('green', { username: 'ci', password: 'guessed', version: '1' })

  await t.rejects(images.need(reference, 'red'), { code: 'busy', message: /waits for its turn/ })
  const image = await settle(images, reference)
  t.match(image, { env: { GREETING: 'hi' }, workdir: '/srv', user: 'app', labels: { org: 'test' }, name: reference })
  t.same(image.command, ['/bin/serve', '--now'])
  t.equal(readFileSync(join(image.rootfs, 'etc/motd'), 'utf8'), 'hello\n')
  t.same(readdirSync(own).sort(), ['names', 'pulled', 'trees'], 'no work is left')
  // The image is there a moment before its pull is over.
  const step = () => images.pulling.progress('red', reference)?.step
  while (step() === 'unpack') await new Promise(resolve => setTimeout(resolve, 5))
  t.match(images.pulling.progress('red', reference), { step: 'done', layers: { done: 1, total: 1 } })
  t.equal((await images.byDigest(image.digest))?.rootfs, image.rootfs)

  t.match(await reasonOf(settle(images, reference, 'green')), /refuses the credentials/)
  t.match(await reasonOf(settle(images, reference, 'blue')), /lets nobody read team\/app without credentials/)
  logins.set('blue', { ...login, version: '1' })
  // What was refused is remembered for those who waited; another host asks anew.
  const other = await again()
  const before = gets()
  t.equal((await settle(other, reference, 'blue')).digest, image.digest)
  t.equal(gets(), before, 'the registry has shown it, and nothing is downloaded twice')

  logins.set('red', { username: 'ci', password: 'changed', version: '2' })
  t.match(await reasonOf(settle(other, reference)), /refuses the credentials/, 'other credentials, another answer')
  clock.ahead = 600_000
  logins.set('blue', { username: 'ci', password: 'revoked', version: '1' })
  t.match(await reasonOf(settle(other, reference, 'blue')), /refuses the credentials/, 'asked again from time to time')
  clock.ahead = 0

  t.same(
    (await other.pulling.list('blue')).map(one => one.reference),
    [reference],
  )
  t.same(await other.collect(new Set()), [], 'a tree with a name stays')
  for (const name of ['red', 'blue']) await other.pulling.remove(name, reference)
  t.same(await other.collect(new Set()), [], 'and so does one that was just asked for')
  const third = await again()
  t.same(await third.collect(new Set([image.digest])), [])
  t.same(await third.collect(new Set()), [image.digest])
})
