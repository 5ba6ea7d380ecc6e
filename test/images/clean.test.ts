/** Cleaning what was built, beside what still uses it. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readlinkSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { clean } from '../../images/clean/clean.ts'
import { checkout } from '../support/chroot.ts'

const root = process.geteuid?.() === 0 ? false : 'needs root'
const [bundle, oldBundle, base, busybox] = ['a', 'b', 'c', 'd'].map(digit => digit.repeat(32)) as [
  string,
  string,
  string,
  string,
]

/** A checkout in which two bundles and two images were built. */
const built = (t: Test): string => {
  const dir = realpathSync(t.testdir())
  const runtime = join(dir, '.runtime')
  for (const name of [bundle, oldBundle]) {
    mkdirSync(join(runtime, 'bundles', name, 'bin'), { recursive: true })
    writeFileSync(join(runtime, 'bundles', name, 'bundle.json'), '{}')
  }
  symlinkSync(bundle, join(runtime, 'bundles/current'))
  symlinkSync(join('bundles', bundle), join(runtime, 'bundle'))
  for (const part of ['names', 'recipes']) mkdirSync(join(runtime, 'images', part), { recursive: true })
  for (const [name, digest] of Object.entries({ base, busybox })) {
    mkdirSync(join(runtime, 'images/trees', digest, 'rootfs'), { recursive: true })
    writeFileSync(join(runtime, 'images/trees', digest, 'rootfs/file'), name)
    writeFileSync(join(runtime, 'images/names', `${name}.json`), JSON.stringify({ digest }))
    writeFileSync(join(runtime, 'images/recipes', name), 'recipe')
  }
  mkdirSync(join(runtime, 'node'))
  mkdirSync(join(dir, '.hutch'))
  mkdirSync(join(dir, 'dist'))
  return dir
}

/** Runs a shell line until the test ends; resolves when it has said "ready". */
const holding = async (t: Test, line: string): Promise<void> => {
  const child = spawn('unshare', ['--mount', 'sh', '-ec', `${line}; echo ready; exec sleep 600`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await once(child.stdout, 'data')
}

t.test('nothing in use: all that was built goes, Node and data stay', { skip: root }, async t => {
  const dir = built(t)
  t.same(clean(dir), [])
  t.same(readdirSync(dir), ['.hutch', '.runtime'])
  t.same(readdirSync(join(dir, '.runtime')), ['node'])
  t.same(clean(dir), [], 'and once more')
})

t.test('the image and the bundle of a sandbox stay, the others go', { skip: root }, async t => {
  const dir = built(t)
  const runtime = join(dir, '.runtime')
  await holding(
    t,
    [
      'mount -t tmpfs none /mnt; mkdir /mnt/upper /mnt/work /mnt/root /mnt/bundle',
      `mount -t overlay none -o lowerdir=${runtime}/images/trees/${base}/rootfs,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root`,
      `mount --bind ${runtime}/bundles/${oldBundle} /mnt/bundle`,
    ].join('; '),
  )
  t.same(clean(dir), [
    `.runtime/bundles/${oldBundle} stays: sandboxes use it`,
    `.runtime/images/trees/${base} stays: sandboxes use it`,
  ])
  t.same(readdirSync(join(runtime, 'bundles')), [oldBundle], 'no link leads nowhere')
  t.notOk(existsSync(join(runtime, 'bundle')))
  t.same(readdirSync(join(runtime, 'images/trees')), [base])
  t.same(readdirSync(join(runtime, 'images/names')), ['base.json'])
  t.same(readdirSync(join(runtime, 'images/recipes')), ['base'])
})

t.test('a server that runs keeps its bundle and every image', { skip: root }, async t => {
  const dir = built(t)
  const runtime = join(dir, '.runtime')
  await holding(t, `cd ${runtime}/bundles/${bundle}`)
  t.equal(clean(dir).length, 3)
  t.equal(readlinkSync(join(runtime, 'bundles/current')), bundle)
  t.equal(readlinkSync(join(runtime, 'bundle')), join('bundles', bundle))
  t.same(readdirSync(join(runtime, 'bundles')).sort(), [bundle, 'current'].sort())
  t.same(readdirSync(join(runtime, 'images/names')), ['base.json', 'busybox.json'])
})

t.test('without root it removes nothing and says why', { skip: root }, async t => {
  const program = join(checkout, 'images/clean/main.ts')
  const line = `"${process.execPath}" "${program}"; echo "$?"`
  const said = execFileSync('setpriv', ['--reuid', '65534', '--clear-groups', 'sh', '-c', `{ ${line}; } 2>&1`], {
    encoding: 'utf8',
  })
  t.equal(said, 'hutch: only root sees which images, bundles and sandboxes are in use; run: sudo make clean\n1\n')
})
