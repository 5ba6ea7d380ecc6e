/** What registries and images that mean harm do, and what comes of it. */
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../../../support/until.ts'
import { createPulls } from '../../../../control/core/images/pull/pulls.ts'
import { mountsOf } from '../../../../control/drivers/oci/spec/mounts.ts'
import { silentLog } from '../../../../shared/log.ts'
import { fakeClock } from '../../../support/clock.ts'
import { hostileRegistry, sha256, tar, type Entry, type Served } from '../../../support/hostile-registry.ts'
import { interceptingProxy } from '../../../support/intercepting-proxy.ts'
import { encodeHeader } from '../../../support/tar-header.ts'
import { pullingStore, reasonOf, settle } from '../../../support/pulls.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(process.getuid?.() !== 0 && 'needs root')

const h = await hostileRegistry(t)
const registries = [{ host: 'localhost', port: h.port, plain: true }]
const MiB = 1024 * 1024
const pullLimits = { maxBytes: 8 * MiB, atOnce: 2, timeMs: 60_000 }
const { images, own } = await pullingStore(t, { registries, pullLimits })
const reference = (repository: string) => `${h.host}/${repository}`

t.test('digests pin; tags and indexes lead to what is for this machine', async t => {
  h.serve('a', [await tar([{ name: 'one', content: '1' }])])
  const first = await settle(images, reference('a:1'))
  const digest = `sha256:${first.digest}`
  const step = () => images.pulling.progress('red', reference('a:1'))
  // It may be used a moment before that is said.
  await until(() => step()?.step === 'done', 'the pull to be done')
  t.match(step(), { step: 'done', digest })
  h.serve('a', [await tar([{ name: 'two', content: '2' }])])
  t.equal((await settle(images, reference('a:1'))).digest, first.digest, 'pulled once, a tag stays where it was')
  t.equal((await settle(images, reference(`a@${digest}`))).digest, first.digest)
  const send = (tag: string, mediaType: string, body: object) =>
    h.answers.set(`/v2/a/manifests/${tag}`, (_message, response) =>
      response.writeHead(200, { 'content-type': mediaType }).end(JSON.stringify(body)),
    )
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const other = { digest: `sha256:${'0'.repeat(64)}`, platform: { os: 'linux', architecture: 's390x' } }
  const ours = { digest, platform: { os: 'linux', architecture } }
  send('index', 'application/vnd.oci.image.index.v1+json', { manifests: [other, ours] })
  t.equal((await settle(images, reference('a:index'))).digest, first.digest)
  const forged = `sha256:${'1'.repeat(64)}`
  send(forged, 'application/vnd.oci.image.manifest.v1+json', { config: {}, layers: [] })
  t.match(await reasonOf(settle(images, reference(`a@${forged}`))), /sent another manifest than sha256:111/)
  send('foreign', 'application/vnd.oci.image.index.v1+json', { manifests: [other] })
  t.match(await reasonOf(settle(images, reference('a:foreign'))), /no image for linux\//)
  send('old', 'application/vnd.docker.distribution.manifest.v1+prettyjws', {})
  t.match(await reasonOf(settle(images, reference('a:old'))), /v1\+prettyjws is not supported/)
  t.match(await reasonOf(settle(images, reference('a:none'))), /does not have it/)
})

t.test('layers of every compression, with whiteouts, links, devices and set-user-id', async t => {
  h.serve('layers', [
    await tar([
      { name: 'bin/su', mode: 0o4755, content: 'x' },
      { name: 'dir/gone', content: 'x' },
      { name: 'opaque/old', content: 'x' },
      { name: 'dev/sda', type: 'block-device', devmajor: 8, devminor: 0 },
      { name: 'dev/tty9', type: 'character-device', devmajor: 4, devminor: 9 },
    ]),
    await tar([
      { name: 'dir/.wh.gone', content: '' },
      { name: 'opaque/.wh..wh..opq', content: '' },
      { name: 'opaque/new', content: 'y' },
      { name: 'hard', type: 'link', linkname: 'bin/su' },
    ]),
    await tar([{ name: 'third', content: '3', uid: 1000, gid: 1001 }]),
  ])
  const { rootfs } = await settle(images, reference('layers:1'))
  t.equal(statSync(join(rootfs, 'bin/su')).mode & 0o7777, 0o4755)
  t.equal(statSync(join(rootfs, 'hard')).ino, statSync(join(rootfs, 'bin/su')).ino)
  t.same([readdirSync(join(rootfs, 'dir')), readdirSync(join(rootfs, 'opaque'))], [[], ['new']])
  t.same(readdirSync(join(rootfs, 'dev')), [], 'devices are left out')
  t.match(statSync(join(rootfs, 'third')), { uid: 1000, gid: 1001 })
  t.equal(statSync(rootfs).mode & 0o777, 0o755)
})

t.test(
  'what no machine could start from, for it has something else where file systems are mounted, is refused',
  async t => {
    const points = mountsOf({ memoryMb: 0, releases: true, ownUsers: true }).map(({ destination }) => destination)
    const places = new Set(points.map(point => point.split('/')[1] ?? ''))
    t.ok(places.size >= 4)
    for (const name of places) {
      const inTheWay = name === 'dev' ? { type: 'symlink' as const, linkname: 'elsewhere' } : { content: 'x' }
      h.serve(`in-place-of${name}`, [await tar([{ name, ...inTheWay }])])
      t.match(await reasonOf(settle(images, reference(`in-place-of${name}:1`))), `its /${name} is no directory`)
    }
    h.serve('with-places', [await tar([...places].map(name => ({ name: `${name}/x`, content: 'x' })))])
    t.ok((await settle(images, reference('with-places:1'))).rootfs)
  },
)

t.test('paths and links do not lead out of the root', async t => {
  const outside = join(t.testdir({ target: 'mine' }), 'target')
  const up = '../'.repeat(12)
  const link = (name: string, linkname: string): Entry => ({ name, type: 'symlink', linkname })
  h.serve('links', [
    await tar([
      { name: `${up}${outside.slice(1)}`, content: 'theirs' },
      link('abs', outside),
      { name: 'abs', content: 'theirs' },
      link('dir', join(outside, '..')),
      { name: 'dir/target', content: 'theirs' },
      link('up', `${up}${join(outside, '..').slice(1)}`),
      { name: 'up/planted', content: 'theirs' },
    ]),
    await tar([{ name: 'dir/.wh.target', content: '' }]),
  ])
  await settle(images, reference('links:1'))
  t.equal(readFileSync(outside, 'utf8'), 'mine')
  t.notOk(existsSync(join(outside, '../planted')))
  h.serve('hard', [await tar([{ name: 'stolen', type: 'link', linkname: `${up}${outside.slice(1)}` }])])
  t.match(await reasonOf(settle(images, reference('hard:1'))), /cannot be unpacked: /)
  t.equal(lstatSync(outside).nlink, 1)
})

t.test('what is too large, too much or not true is refused, and nothing of it stays', async t => {
  const file = [await tar([{ name: 'file', content: 'x'.repeat(1000) }])]
  const sparse = { name: 'holes', content: 'x', pax: { 'GNU.sparse.major': '1' } }
  const attribute = { name: 'file', content: 'x', pax: { 'SCHILY.xattr.trusted.overlay.redirect': '/etc' } }
  const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`label-${at}`, '']))
  const cases: [string, Buffer[], ((image: Served) => void) | undefined, RegExp][] = [
    [
      'bomb',
      [await tar([{ name: 'zeros', content: '\0'.repeat(9 * MiB) }])],
      undefined,
      /unpack to more than HUTCH_IMAGE_MAX_MB/,
    ],
    ['large', file, ({ manifest }) => (manifest.layers[0]!.size = 9 * MiB), /larger than HUTCH_IMAGE_MAX_MB/],
    ['more', file, ({ manifest }) => (manifest.layers[0]!.size = 10), /larger than the manifest says/],
    ['forged', file, ({ manifest }) => (manifest.layers[0]!.digest = sha256('other')), /is not what the manifest says/],
    ['diff', file, ({ config }) => (config.rootfs.diff_ids = [sha256('other')]), /cannot be unpacked: /],
    [
      'labels',
      file,
      ({ config }) => (config.config = { Labels: labels(1_001) }),
      /labels are more than 1000, or 524288 bytes/,
    ],
    ['counts', file, ({ config }) => config.rootfs.diff_ids.push(sha256('x')), /disagree about the layers/],
    ['many', Array.from({ length: 129 }, () => file[0]!), undefined, /at most 128 items/],
    ['noise', [Buffer.from('x'.repeat(2048))], undefined, /is not a tar archive/],
    ['sparse', [await tar([sparse])], undefined, /sparse file, "holes"/],
    ['overlay', [await tar([attribute])], undefined, /attribute SCHILY\.xattr\.trusted\.overlay\.redirect on "file"/],
    [
      'cut',
      file,
      ({ blobs, manifest }) => {
        blobs[0] = blobs[0]!.subarray(0, 40)
        manifest.layers[0]!.digest = sha256(blobs[0]!)
      },
      /cannot be decompressed/,
    ],
  ]
  for (const [name, layers, change, says] of cases) {
    h.serve(name, layers, change)
    t.match(await reasonOf(settle(images, reference(`${name}:1`))), says, name)
  }
  t.same(readdirSync(own).sort(), ['names', 'pulled', 'trees'])
  h.serve('labels-all', file, ({ config }) => (config.config = { Labels: labels(1_000) }))
  t.equal(Object.keys((await settle(images, reference('labels-all:1'))).labels ?? {}).length, 1_000)
})

/** What a reader that takes the size of a link, or of a file called like a directory, for true passes over, and another one unpacks. */
t.test('entries that only the unpacker would see are refused', async t => {
  const header = (name: string, type: string, size: number) =>
    encodeHeader({ name, mode: 0o755, uid: 0, gid: 0, size, mtime: 1, type, linkname: '' })
  const whole = (name: string, type: string, content: string) =>
    Buffer.concat([header(name, type, content.length), Buffer.from(content.padEnd(512, '\0'))])
  // Filled up with zeros, seven megabytes each.
  const holes = Array.from({ length: 40 }, (_, at) => [
    whole('x', 'x', `22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n31 GNU.sparse.realsize=7340032\n`),
    whole(`hidden-${at}`, '0', '0\n'.padEnd(512, '\0')),
  ]).flat()
  const hidden = Buffer.concat([whole('file', '0', 'x'), ...holes])
  // The unpacker reads all digits of a length, and so one record of 5,000 bytes.
  const inner = '\n19 size=1073741824\n'
  const within = (digits: string) => {
    const start = `${digits} comment=`
    const first = start.padEnd(49, 'a') + inner
    return `${first}${`${5_000 - first.length} b=`.padEnd(5_000 - first.length - 1, 'b')}\n`
  }
  const padded = (content: string) =>
    Buffer.concat([
      header('x', 'x', content.length),
      Buffer.alloc(Math.ceil(content.length / 512) * 512, 0).fill(content, 0, content.length),
    ])
  const before: [string, Buffer[], RegExp][] = [
    ['digits', [padded(within('5000'.padStart(22, '0'))), header('a', '0', 0)], /a record that is none/],
    ['link', [header('a', '2', hidden.length)], /sparse file, "hidden-0"/],
    ['slash', [header('a/', '0', hidden.length)], /a directory with content, "a\/"/],
    ['names', [whole('l', 'L', 'a/'), whole('x', 'x', '10 path=b\n'), header('a', '0', hidden.length)], /with content/],
    ['global', [whole('g', 'g', '12 size=512\n'), header('a', '0', 512)], /of an unknown type, "g"/],
    ['cut', [header('a', '0', hidden.length + 1024)], /a layer is cut off/],
    ['long', [header('x', 'x', 2 * MiB)], /header larger than 1048576 bytes/],
    ['record', [whole('x', 'x', '99 a=b\n')], /a record that is none/],
    ['size', [header('a', '0', -1)], /a size that cannot be/],
    ['end', [Buffer.alloc(512)], /goes on after its end/],
  ]
  for (const [name, first, says] of before) {
    h.serve(`hidden-${name}`, [Buffer.concat([...first, hidden])])
    t.match(await reasonOf(settle(images, reference(`hidden-${name}:1`))), says, name)
  }
})

t.test('pulls go where the operator lets them, and credentials nowhere else', async t => {
  const { images: other, logins } = await pullingStore(t, { registries: [...registries, { host: '*', plain: false }] })
  logins.set('red', { username: 'me', password: 'mine', version: '1' })
  const ask = (name: string, workspace = 'red') => reasonOf(settle(other, reference(`${name}:1`), workspace))
  const redirect = (name: string, location: string) =>
    h.answers.set(`/v2/${name}/manifests/1`, (_message, response) => response.writeHead(307, { location }).end())
  const elsewhere = await hostileRegistry(t)
  const targets: [string, RegExp][] = [
    [`http://localhost:${elsewhere.port}/x`, /leads to localhost:\d+, which is not among the registries/],
    [`http://127.0.0.1:${h.port}/x`, /not among the registries/],
    [`https://127.0.0.1:${elsewhere.port}/x`, /is at 127\.0\.0\.1, which is not public/],
    [`https://localhost:${elsewhere.port}/x`, /is at (127\.0\.0\.1|::1), which is not public/],
    ['https://169.254.169.254/latest/meta-data', /is at 169\.254\.169\.254, where clouds keep credentials/],
    ['https://[::ffff:10.0.0.1]/x', /not public/],
    ['https://[fd00::1]/x', /not public/],
    ['file:///etc/passwd', /not among the registries/],
  ]
  for (const [at, [location, says]] of targets.entries()) {
    redirect(`to-${at}`, location)
    t.match(await ask(`to-${at}`), says, location)
  }
  t.same(elsewhere.asked, [], 'nobody was connected to')
  redirect('loop', `${'/v2/loop/manifests/1'}`)
  t.match(await ask('loop'), /redirects where a pull does not follow/)

  const challenge = (name: string, header: string) =>
    h.answers.set(`/v2/${name}/manifests/1`, (_message, response) =>
      response.writeHead(401, { 'www-authenticate': header }).end(),
    )
  challenge('realm', `Bearer realm="http://localhost:${elsewhere.port}/token",service="s"`)
  t.match(await ask('realm'), /not among the registries/)
  t.same(elsewhere.asked, [])
  challenge('token', `Bearer realm="http://${h.host}/token",service="s",scope="repository:token:pull"`)
  h.answers.set('/token', (_message, response) => response.end(JSON.stringify({ token: 'abc' })))
  h.asked.length = 0
  t.match(await ask('token'), /refuses the credentials/)
  t.same(
    h.asked.map(({ url, authorization }) => [url.replace(/\?.*/s, ''), authorization]),
    [
      ['/v2/token/manifests/1', undefined],
      ['/token', `Basic ${Buffer.from('me:mine').toString('base64')}`],
      ['/v2/token/manifests/1', 'Bearer abc'],
    ],
  )
  await t.rejects(images.check('ghcr.io/a/b:1', 'red'), { code: 'image_refused', message: /ghcr\.io is not among/ })
  await t.rejects(images.check('nothing', 'red'), { code: 'invalid_image' })
  await t.rejects(images.check('docker.io/../x', 'red'), { code: 'invalid_image' })
})

t.test('credentials do not follow a redirect to another host, not even to one that is listed', async t => {
  const storage = await hostileRegistry(t)
  const both = [...registries, { host: 'localhost', port: storage.port, plain: true }]
  const { images: other, logins } = await pullingStore(t, { registries: both })
  logins.set('red', { username: 'me', password: 'mine', version: '1' })
  const layer = await tar([{ name: 'file', content: 'x' }])
  storage.serve('moved', [layer])
  for (const path of storage.answers.keys())
    h.answers.set(path, ({ headers }, response) =>
      headers.authorization
        ? response.writeHead(307, { location: `http://${storage.host}${path}` }).end()
        : response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end(),
    )
  t.match(await settle(other, reference('moved:1')), { name: reference('moved:1') })
  t.same(new Set(storage.asked.map(({ authorization }) => authorization)), new Set([undefined]))
  const challenge = { 'www-authenticate': 'Basic realm="x"' }
  h.answers.set('/v2/lured/manifests/1', (_, response) =>
    response.writeHead(307, { location: `http://${storage.host}/v2/lured/manifests/1` }).end(),
  )
  storage.answers.set('/v2/lured/manifests/1', (_, response) => response.writeHead(401, challenge).end())
  t.match(await reasonOf(settle(other, reference('lured:1'))), /refuses the credentials/, 'nor when it asks for them')
  t.same(new Set(storage.asked.map(({ authorization }) => authorization)), new Set([undefined]))
  t.same(
    h.asked.filter(({ url, authorization }) => url?.includes('lured') && authorization),
    [],
  )
})

t.test('through the proxy of a network that opens TLS', async t => {
  h.serve('proxied', [await tar([{ name: 'file', content: 'x' }])])
  const dir = t.testdir()
  const proxy = await interceptingProxy(dir, ({ pathname }, message, response) => {
    const answer = h.answers.get(pathname)
    if (answer) answer(message, response)
    else response.writeHead(404).end()
  })
  t.teardown(proxy.close)
  const proxies = { http: '', https: proxy.url, except: ['direct.test'] }
  const given = { registries: [{ host: '*', plain: false }], proxies }
  const { images: trusting } = await pullingStore(t, { ...given, caFile: proxy.caFile })
  t.match(await settle(trusting, 'registry.test/proxied:1'), { name: 'registry.test/proxied:1' })
  t.match(proxy.asked[0], 'https://registry.test/v2/proxied/manifests/1')
  const { images: wary } = await pullingStore(t, given)
  await t.rejects(settle(wary, 'registry.test/proxied:1'), { code: 'image_failed', message: /certificate/ })
  await t.rejects(settle(trusting, 'direct.test/proxied:1'), { message: /no such host/ }, 'not through the proxy')
})

t.test('whoever knows a digest does not get the image by it', async t => {
  const layer = await tar([{ name: 'secret', content: 'private' }])
  h.serve('owned', [layer])
  const { digest } = await settle(images, reference('owned:1'), 'owner')
  // The manifest, but none of the layers.
  h.serve('claims', [layer], ({ blobs }) => (blobs[0] = Buffer.alloc(blobs[0]!.length)))
  t.match(await reasonOf(settle(images, `${h.host}/claims@sha256:${digest}`, 'thief')), /cannot be decompressed/)
})

t.test('one that hangs is given up in time, and what a crash leaves is removed', async t => {
  const limits = { ...pullLimits, timeMs: 200 }
  const { images: quick, own: dir, again } = await pullingStore(t, { registries, pullLimits: limits })
  h.answers.set('/v2/slow/manifests/1', () => undefined)
  t.match(await reasonOf(settle(quick, reference('slow:1'))), /was not here within 0\.2 seconds/)
  h.answers.set('/v2/broken/manifests/1', (_message, response) => response.writeHead(503).end())
  await t.rejects(settle(images, reference('broken:1')), { code: 'image_failed', message: /status 503/ })
  h.serve('broken', [await tar([{ name: 'up', content: 'again' }])])
  t.match(
    await settle(images, reference('broken:1')),
    { name: reference('broken:1') },
    'asked again, it is tried again',
  )
  writeFileSync(join(dir, '.new-left'), '')
  await again()
  t.same(readdirSync(dir).sort(), ['names', 'pulled', 'trees'])
})

t.test('pulls take turns, and one that nobody waits for is given up', async t => {
  const clock = fakeClock()
  const pulls = createPulls({ atOnce: 1, timeMs: 600_000 }, { clock, log: silentLog })
  const begun: string[] = []
  const forever = (name: string) => (_tell: unknown, signal: AbortSignal) => {
    begun.push(name)
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  const ask = (name: string) => pulls.want('red', name, forever(name))
  t.match(ask('a'), { progress: { step: 'waiting' }, error: undefined })
  ask('b')
  const seen: string[] = []
  const stop = pulls.follow('red', 'a', ({ step }) => seen.push(step))
  stop()
  for (let waited = 0; waited < 40; waited += 10) {
    ask('b')
    await clock.tick(10_000)
  }
  t.same(begun, ['a', 'b'], 'the second begins when the first is given up')
  t.match(pulls.find('red', 'a')?.error?.message, /nobody waits for it any more/)
  t.same(seen, ['waiting'])
  t.same(
    pulls.list('red').map(({ reference, progress }) => [reference, progress.step]),
    [
      ['a', 'failed'],
      ['b', 'waiting'],
    ],
  )
  await pulls.close()
  t.match(pulls.find('red', 'b')?.error, { code: 'unavailable' })
  await clock.tick(700_000)
})

t.test('of one workspace one image is pulled at a time, and the others get their turns', async t => {
  const pulls = createPulls({ atOnce: 2, timeMs: 600_000 }, { clock: fakeClock(), log: silentLog })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const ask = (workspace: string, name: string) =>
    pulls.want(workspace, name, async () => {
      begun.push(name)
      await new Promise<void>(resolve => ends.set(name, resolve))
    })
  for (const name of ['a', 'b']) ask('red', name)
  ask('blue', 'c')
  await until(() => begun.length === 2, 'two pulls')
  t.same(begun, ['a', 'c'], 'a turn was free for the second of the first workspace')
  ends.get('a')?.()
  await until(() => begun.length === 3, 'the third')
  for (const end of ends.values()) end()
  await pulls.close()
})
