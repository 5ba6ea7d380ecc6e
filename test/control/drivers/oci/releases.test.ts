import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { releasesBeside } from '../../../../control/drivers/oci/bundle.ts'
import { mountsOf } from '../../../../control/drivers/oci/spec/mounts.ts'

t.test('only a directory of bundles is shown to machines', async t => {
  const root = realpathSync(
    t.testdir({
      bundles: { a: { releases: {} }, old: {}, current: t.fixture('symlink', 'a') },
      opt: { hutch: { releases: {} }, secrets: {} },
      odd: { hutch: { releases: {} }, current: t.fixture('symlink', '../opt/hutch') },
    }),
  )
  t.equal(await releasesBeside(join(root, 'bundles/a')), join(root, 'bundles'))
  t.equal(await releasesBeside(join(root, 'bundles/old')), undefined, 'it has no place to mount it')
  t.equal(await releasesBeside(join(root, 'opt/hutch')), undefined, 'its neighbours are not bundles')
  t.equal(await releasesBeside(join(root, 'odd/hutch')), undefined, 'current leads elsewhere')
})

t.test('they are mounted read-only, inside the bundle', async t => {
  const find = (releases: boolean) =>
    mountsOf({ memoryMb: 512, releases, ownUsers: false }).filter(({ destination }) =>
      destination.startsWith('/.hutch'),
    )
  t.match(find(true), [
    { source: '/run/hutch/stage/hutch' },
    { destination: '/.hutch/releases', source: '/run/hutch/stage/releases' },
  ])
  for (const { options } of find(true)) t.ok(options.includes('ro'))
  t.equal(find(false).length, 1)
})
