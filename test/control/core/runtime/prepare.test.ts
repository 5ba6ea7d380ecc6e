import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { prepareRuntime, unpacksLater } from '../../../../control/core/runtime/prepare.ts'
import { unpackRuntime } from '../../../../control/core/runtime/unpack.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { silentLog } from '../../../../shared/log.ts'

const deps = { log: silentLog, clock: systemClock() }
const [one, two, tree] = ['1', '2', '3'].map(digit => digit.repeat(32)) as [string, string, string]

/** The dist/ of a package that carries the bundle `digest`. */
const packed = (t: Test, digest: string, name: string): string => {
  const dir = t.testdirName
  const [source, dist] = [join(dir, `${name}-source`), join(dir, name, 'dist')]
  for (const path of [join(source, 'bundles', digest, 'bin'), join(source, 'images/trees', tree, 'rootfs/tmp'), dist])
    mkdirSync(path, { recursive: true })
  writeFileSync(join(source, 'bundles', digest, 'bundle.json'), `{"of": "${name}"}`)
  writeFileSync(join(source, 'bundles', digest, 'bin/node'), 'program', { mode: 0o755 })
  writeFileSync(join(source, 'images/trees', tree, 'image.json'), '{}')
  const tar = execFileSync('tar', ['-c', '-C', source, 'bundles', 'images'])
  writeFileSync(join(dist, 'runtime.tar.zst'), zstdCompressSync(tar))
  writeFileSync(join(dist, 'runtime.json'), JSON.stringify({ bundle: digest, images: { busybox: tree } }))
  return dist
}

t.test('the first start unpacks, later ones have nothing to do', async t => {
  const dir = join(t.testdir(), 'runtime')
  const dist = packed(t, one, 'first')
  await unpackRuntime(dist, dir, deps)
  t.equal(readFileSync(join(dir, 'bundle/bundle.json'), 'utf8'), '{"of": "first"}')
  t.equal(readlinkSync(join(dir, 'bundles/current')), one)
  t.same(JSON.parse(readFileSync(join(dir, 'images/names/busybox.json'), 'utf8')), { digest: tree })
  t.ok(existsSync(join(dir, 'images/trees', tree, 'rootfs/tmp')))
  execFileSync(join('test'), ['-x', join(dir, 'bundle/bin/node')])
  writeFileSync(join(dist, 'runtime.tar.zst'), 'broken')
  await unpackRuntime(dist, dir, deps)
  t.same(readdirSync(dir).sort(), ['bundle', 'bundles', 'images'])
})

t.test('a newer package puts its bundle beside the one that sandboxes run, an older one goes back', async t => {
  const dir = join(t.testdir(), 'runtime')
  const [first, second] = [packed(t, one, 'first'), packed(t, two, 'second')]
  await unpackRuntime(first, dir, deps)
  await unpackRuntime(second, dir, deps)
  t.equal(readlinkSync(join(dir, 'bundle')), join('bundles', two))
  t.ok(existsSync(join(dir, 'bundles', one, 'bundle.json')))
  await unpackRuntime(first, dir, deps)
  t.equal(readlinkSync(join(dir, 'bundles/current')), one)
})

t.test('one that was killed half-way is done again, and its remains go', async t => {
  const dir = join(t.testdir(), 'runtime')
  const dist = packed(t, one, 'first')
  mkdirSync(join(dir, '.new-dead/bundles', one), { recursive: true })
  mkdirSync(join(dir, '.new-busy'))
  utimesSync(join(dir, '.new-dead'), 0, 0)
  await unpackRuntime(dist, dir, deps)
  t.ok(existsSync(join(dir, 'bundle/bundle.json')))
  t.same(
    readdirSync(dir).filter(name => name.startsWith('.')),
    ['.new-busy'],
    'what another process may be at stays',
  )
})

t.test('several at once end with one', async t => {
  const dir = join(t.testdir(), 'runtime')
  const dist = packed(t, one, 'first')
  await Promise.all([1, 2, 3].map(() => unpackRuntime(dist, dir, deps)))
  t.ok(existsSync(join(dir, 'bundle/bundle.json')))
  t.same(readdirSync(dir).sort(), ['bundle', 'bundles', 'images'])
})

t.test('an archive that is not whole is said, and leaves nothing', async t => {
  const dir = join(t.testdir(), 'runtime')
  const dist = packed(t, one, 'first')
  const whole = readFileSync(join(dist, 'runtime.tar.zst'))
  for (const [name, content] of [
    ['cut', whole.subarray(0, whole.length / 2)],
    ['something else', Buffer.from('not an archive')],
    ['no tar', zstdCompressSync(Buffer.alloc(100_000, 'x'))],
  ] as const) {
    writeFileSync(join(dist, 'runtime.tar.zst'), content)
    await t.rejects(
      unpackRuntime(dist, dir, deps),
      { code: 'unavailable', message: /cannot be unpacked: .*; see that/ },
      name,
    )
    t.same(readdirSync(dir).sort(), ['bundles', 'images'])
    t.same(readdirSync(join(dir, 'bundles')), [])
  }
})

t.test('only an installed package unpacks, and only where nothing else was named', async t => {
  const root = t.testdir()
  packed(t, one, 'hutch')
  const dataDir = join(root, 'data')
  const places = { dataDir, bundleDir: join(dataDir, 'runtime/bundle'), imagesDir: join(dataDir, 'runtime/images') }
  const from = { kind: 'package', root: join(root, 'hutch') } as const
  mkdirSync(dataDir)
  await prepareRuntime(places, deps, { ...from, kind: 'checkout' })
  await prepareRuntime({ dataDir, bundleDir: '/elsewhere', imagesDir: '/elsewhere' }, deps, from)
  t.same(readdirSync(dataDir), [])
  t.equal(await unpacksLater(places, from), true)
  await prepareRuntime(places, deps, from)
  t.ok(existsSync(join(places.bundleDir, 'bundle.json')))
  t.equal(await unpacksLater(places, from), false)
})
