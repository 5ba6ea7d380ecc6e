import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bundleIn, channelOf } from '../../../daemon/upgrade/bundles.ts'

const [one, two, other] = ['1'.repeat(32), '2'.repeat(32), '3'.repeat(32)] as const
const facts = (digest: string, arch: string = process.arch) =>
  JSON.stringify({
    digest,
    arch,
    command: ['/.hutch/lib/ld', '--library-path', '/.hutch/lib', '/.hutch/bin/node', '--flag'],
  })

t.test('the newest is what `latest` says, or where `current` leads; others are named by their digest', async t => {
  const dir = t.testdir({
    [one]: { 'bundle.json': facts(one), daemon: { 'boot.js': '' } },
    [two]: { 'bundle.json': facts(two) },
    current: t.fixture('symlink', two),
  })
  const command = (digest: string) => [
    `${dir}/${digest}/lib/ld`,
    '--inhibit-rpath',
    '',
    '--library-path',
    `${dir}/${digest}/lib`,
    `${dir}/${digest}/bin/node`,
    '--flag',
  ]
  t.same(await bundleIn(dir, 'latest'), { dir: join(dir, two), digest: two, command: command(two) })
  writeFileSync(join(dir, 'latest'), `${one}\n`)
  t.same(await bundleIn(dir, 'latest'), { dir: join(dir, one), digest: one, command: command(one) })
  writeFileSync(join(dir, 'latest'), two)
  t.equal((await bundleIn(dir, 'latest')).digest, two)
  t.same(await bundleIn(dir, one), { dir: join(dir, one), digest: one, command: command(one) })
  t.equal(channelOf(''), '')
})

t.test('what is no bundle of the directory is refused', async t => {
  const root = t.testdir({
    outside: { 'bundle.json': facts(one) },
    releases: { [two]: { 'bundle.json': facts(two, 'mips') }, [other]: { 'bundle.json': '{}' } },
  })
  const dir = join(root, 'releases')
  symlinkSync('../outside', join(dir, 'current'))
  mkdirSync(join(dir, 'empty'))
  writeFileSync(join(dir, 'file'), '')
  await t.rejects(bundleIn(dir, 'latest'), /lies outside/)
  for (const name of ['', '.', '..', '../outside', 'none']) {
    writeFileSync(join(dir, 'latest'), name)
    await t.rejects(bundleIn(dir, 'latest'), /there is no/, `"${name}"`)
  }
  await t.rejects(bundleIn(dir, two), /for mips/)
  for (const version of [other, 'empty', 'file', 'none']) await t.rejects(bundleIn(dir, version), /is not in/, version)
})
