import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { createImages } from '../../../../control/core/images/images.ts'
import { importShared } from '../../../../control/core/images/import-shared.ts'
import { sourceOf } from '../../../../control/core/images/source.ts'
import { isError } from '../../../../shared/errors.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { jsonLog, silentLog } from '../../../../shared/log.ts'
import { fakeClock } from '../../../support/clock.ts'

const wireNames = [{ header: 'Svc', short: 'svc', image: 'svc' }]
const deps = { ids: randomIds(), log: silentLog, clock: systemClock() }

/** A machine's shared image directory, written as the recipes write it. */
const shared = (names: Record<string, string>) => ({
  trees: Object.fromEntries(
    Object.values(names).map(digest => [
      digest,
      { rootfs: { etc: { id: digest } }, 'image.json': '{"env":{"A":"1"},"workdir":"/root","user":""}' },
    ]),
  ),
  names: Object.fromEntries(
    Object.entries(names).map(([name, digest]) => [`${name}.json`, JSON.stringify({ digest })]),
  ),
})
const base = 'a'.repeat(32)
const busybox = 'b'.repeat(32)

const open = async (t: Test, extra: object = {}) => {
  const dir = t.testdir({ shared: shared({ base, busybox }), data: {}, ...extra })
  const config = { dataDir: join(dir, 'data'), imagesDir: join(dir, 'shared'), wireNames }
  return { dir, config, images: await createImages(config, deps) }
}
type Test = Pick<typeof t, 'testdir' | 'testdirName'>

/** An OCI layout with one image made by umoci from a directory. */
const makeLayout = async (t: Test, files: Record<string, string>, config: string[]): Promise<string> => {
  const dir = mkdtempSync(join(t.testdirName, 'layout-'))
  const layout = join(dir, 'layout')
  const run = (...args: string[]) => execa('umoci', args, { stdin: 'ignore' })
  await run('init', '--layout', layout)
  await run('new', '--image', `${layout}:app`)
  await run('unpack', '--image', `${layout}:app`, join(dir, 'bundle'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, 'bundle/rootfs', name), content)
  await run('repack', '--image', `${layout}:app`, join(dir, 'bundle'))
  await run('config', '--image', `${layout}:app`, ...config)
  return `oci:${layout}:app`
}

t.test('resolves names of the machine, with wire prefix and tag or without', async t => {
  const { images, dir } = await open(t)
  for (const reference of ['base', 'base:latest', 'svc/base-image:latest', 'svc/base', 'base-image']) {
    const image = await images.resolve(reference)
    t.match(image, { name: 'base', digest: base, env: { A: '1' }, workdir: '/root', user: '', command: [] }, reference)
    t.equal(image.rootfs, join(dir, 'shared/trees', base, 'rootfs'), 'shared, not copied')
  }
  t.same(
    (await images.list()).map(image => image.name),
    ['base', 'busybox'],
  )
})

t.test('an unknown image is refused with the ones there are', async t => {
  const { images } = await open(t)
  for (const reference of ['nope', 'svc/nope:latest', 'base:1', '../base', ''])
    await t.rejects(images.resolve(reference), {
      code: 'invalid_image',
      status: 400,
      details: { requested: reference, supported: ['svc/base-image:latest', 'base', 'busybox'] },
    })
})

t.test('a name whose files are gone is not known, and not named as one that is', async t => {
  const { images, config } = await open(t)
  rmSync(join(config.imagesDir, 'trees', base), { recursive: true })
  await t.rejects(images.resolve('base'), {
    code: 'invalid_image',
    details: { requested: 'base', supported: ['busybox'] },
  })
})

t.test('what a machine is about to be made of is not collected, though its name is gone', async t => {
  const { images, config } = await open(t)
  const digest = 'c'.repeat(32)
  const own = join(config.dataDir, 'images')
  mkdirSync(join(own, 'trees', digest, 'rootfs'), { recursive: true })
  writeFileSync(join(own, 'trees', digest, 'image.json'), '{"env":{},"workdir":"/","user":""}')
  writeFileSync(join(own, 'names/app.json'), JSON.stringify({ digest }))
  t.equal((await images.need('app', 'red')).digest, digest)
  await images.remove('app')
  t.same(await images.collect(new Set()), [])
  t.ok(await images.byDigest(digest))
})

t.test('imports an OCI layout and survives a restart', async t => {
  const { images, config } = await open(t)
  const source = await makeLayout(t, { hello: 'hi' }, [
    '--config.env=GREETING=hello=world',
    '--config.workingdir=/srv',
    '--config.user=1000:1000',
    '--config.entrypoint=/bin/app',
    '--config.cmd=serve',
  ])
  const image = await images.import('team/app:1.0', source)
  t.match(image, { name: 'team/app:1.0', env: { GREETING: 'hello=world' }, workdir: '/srv', user: '1000:1000' })
  t.same(image.command, ['/bin/app', 'serve'])
  t.equal(readFileSync(join(image.rootfs, 'hello'), 'utf8'), 'hi')
  t.equal(statSync(image.rootfs).mode & 0o777, 0o755)

  const again = await createImages(config, deps)
  t.same(await again.resolve('team/app:1.0'), image)
  t.same(readdirSync(join(config.dataDir, 'images')).sort(), ['names', 'pulled', 'trees'], 'no work is left behind')
  t.same(await again.import('team/app:2.0', source), { ...image, name: 'team/app:2.0' }, 'same tree, another name')
})

t.test('an import moves the name; the old tree stays while in use', async t => {
  const { images } = await open(t)
  const first = await images.import('app', await makeLayout(t, { version: '1' }, []))
  const second = await images.import('app', await makeLayout(t, { version: '2' }, []))
  t.not(second.digest, first.digest)
  t.equal(readFileSync(join((await images.resolve('app')).rootfs, 'version'), 'utf8'), '2')
  t.same(await images.collect(new Set([first.digest])), [], 'in use')
  t.equal(readFileSync(join(first.rootfs, 'version'), 'utf8'), '1')
  t.same(await images.collect(new Set()), [first.digest])
  await images.remove('app')
  await t.rejects(images.resolve('app'), { code: 'invalid_image' })
  await t.rejects(images.remove('app'), { code: 'not_found' })
  t.same(await images.collect(new Set()), [second.digest])
})

t.test('an operator names a layout, an archive of either kind, or a reference', async t => {
  const { config, images } = await open(t)
  const source = await makeLayout(t, { hello: 'hi' }, [])
  const layout = source.replace(/^oci:|:app$/g, '')
  const dir = join(layout, '..')
  const archives = ['docker-archive', 'oci-archive'].map(kind => [`${dir}/${kind}.tar`, `${kind}:${dir}/${kind}.tar`])
  for (const [, made = ''] of archives) await execa('skopeo', ['copy', '--quiet', source, `${made}:app:1`])
  const cases: readonly (readonly string[])[] = [
    ['layout', `oci:${layout}`],
    ...archives,
    ['docker.io/alpine', 'docker://docker.io/library/alpine:latest'],
    ['oci:elsewhere:x', 'oci:elsewhere:x'],
  ]
  for (const [from = '', wanted = ''] of cases) t.equal(await sourceOf(from, dir), wanted, from)
  for (const from of ['', 'nothing', 'alpine', '--help', dir, `${layout}/oci-layout`])
    await t.rejects(sourceOf(from, dir), { code: 'invalid_argument', details: { field: 'FROM' } }, from)
  const places = { ...config, imageAliases: {} }
  const digest = await importShared(places, ['mine:2', await sourceOf(`${dir}/docker-archive.tar`, '/')], deps)
  t.match(await images.resolve('mine:2'), { digest, name: 'mine:2' }, 'a store that runs finds it')
  await t.rejects(importShared(places, ['No Name', source], deps), { message: /^NAME: / })
})

t.test('a failed import changes nothing', async t => {
  const { images, config } = await open(t)
  await t.rejects(images.import('app', 'oci:/nowhere:x'), {
    code: 'image_failed',
    details: { image: 'app', step: 'copy' },
  })
  await t.rejects(images.import('app', '--help'), { code: 'invalid_argument', details: { field: 'source' } })
  await t.rejects(images.import('No Name', 'oci:/x'), { code: 'invalid_argument', details: { field: 'image' } })
  const gone = new AbortController()
  gone.abort(new Error('client left'))
  const error = await images.import('app', 'oci:/nowhere:x', gone.signal).catch(caught => caught)
  t.notOk(isError(error), 'an abort is no failure of the image')
  t.same(readdirSync(join(config.dataDir, 'images')).sort(), ['names', 'pulled', 'trees'])
  t.same(readdirSync(join(config.dataDir, 'images/names')), [])
})

t.test('work that a crash left half done is removed', async t => {
  const { config } = await open(t)
  const left = join(config.dataDir, 'images/.new-abc/tree/rootfs')
  mkdirSync(left, { recursive: true })
  const images = await createImages(config, deps)
  t.same(readdirSync(join(config.dataDir, 'images')).sort(), ['names', 'pulled', 'trees'])
  t.equal((await images.list()).length, 2)
})

t.test('an import that takes long says every few seconds at which step it is', async t => {
  const { config } = await open(t)
  const clock = fakeClock()
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: clock.now, write: line => void lines.push(line) })
  const images = await createImages(config, { ...deps, log, clock })
  // A pipe that nobody writes to is an archive that takes for ever.
  const archive = join(t.testdirName, 'archive')
  await execa('mkfifo', [archive])
  const giveUp = new AbortController()
  const importing = images.import('app', `oci-archive:${archive}`, giveUp.signal)
  for (let waited = 0; waited < 100 && lines.length < 2; waited++) {
    await systemClock().sleep(10)
    await clock.tick(1_000)
  }
  giveUp.abort()
  await t.rejects(importing)
  t.match(JSON.parse(lines[1] as string), { event: 'image.importing', image: 'app', step: 'copy', seconds: 10 })
  const said = lines.length
  await clock.tick(60_000)
  t.equal(lines.length, said, 'and nothing more when it is over')
})
