/** What can be wrong with a machine that was made for nobody when somebody is to get it. */
import { chownSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRootfs, whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const dir = t.testdir()
const kit = makeKit(dir)

/** Nobody listens in what these machines run. */
const tell = async (): Promise<void> => {}

t.test('one whose image was removed, or made anew, is given to nobody, and leaves nothing', async t => {
  const box = await openBox(t, kit)
  const { claimer } = box.driver
  if (!claimer) throw new Error('it gives no machines to others')
  const rootfs = makeRootfs(join(dir, 'image'))
  const spec = (id: string) => box.spec(id, { rootfs, storageMb: 32 })
  for (const id of ['gone', 'anew', 'whole']) await box.driver.create({ ...spec(id), storageMb: 16, anonymous: true })
  const away = join(dir, 'away')
  renameSync(rootfs, away)
  await t.rejects(claimer.claim(spec('gone'), tell), {
    code: 'driver_failed',
    message: /the files of its image are gone/,
  })
  makeRootfs(rootfs)
  await t.rejects(claimer.claim(spec('anew'), tell), {
    code: 'driver_failed',
    message: /the files of its image are gone/,
  })
  rmSync(rootfs, { recursive: true })
  renameSync(away, rootfs)
  const claimed = await claimer.claim(spec('whole'), tell)
  t.equal((await sh(claimed, 'echo here')).out, 'here\n', 'with its image it is')
  for (const id of ['gone', 'anew']) {
    await box.driver.remove(id)
    t.same(await box.leftovers(id), [])
  }
})

/** Images as somebody could make them who wants to write elsewhere than in his root, or to see what he should not. */
const crooked: Readonly<Record<string, { make: (root: string) => void; message: RegExp }>> = {
  'a link in the place of a mount': {
    make: root => symlinkSync('/etc', join(root, 'dev')),
    message: /root of the image: dev: (Not a directory|Too many levels of symbolic links)/,
  },
  'a file in the place of a mount': {
    make: root => writeFileSync(join(root, 'sys'), ''),
    message: /root of the image: sys: Not a directory/,
  },
  'a link in the place of the bundle': {
    make: root => symlinkSync('etc', join(root, '.hutch')),
    message: /root of the image: \.hutch: /,
  },
  'files of somebody who cannot be in it': {
    make: root => chownSync(join(root, 'etc/passwd'), 5_000_000, 0),
    message: /5000000/,
  },
}

t.test('a machine of no image does not become one of an image that leads elsewhere, and is removed whole', async t => {
  const box = await openBox(t, kit)
  const { claimer } = box.driver
  if (claimer?.genericRoot === undefined) throw new Error('there are no generic machines here')
  for (const [what, { make, message }] of Object.entries(crooked)) {
    const rootfs = makeRootfs(join(dir, what.replaceAll(' ', '-'), 'rootfs'))
    const outside = readdirSync(join(rootfs, 'etc'))
    for (const name of ['dev', 'sys', '.hutch']) if (readdirSync(rootfs).includes(name)) rmdirSync(join(rootfs, name))
    make(rootfs)
    await box.driver.create({ ...box.spec('generic', { storageMb: 16 }), rootfs: claimer.genericRoot, anonymous: true })
    await t.rejects(
      claimer.claim(box.spec('generic', { rootfs, storageMb: 32 }), tell),
      { code: 'driver_failed', message },
      what,
    )
    t.same(readdirSync(join(rootfs, 'etc')), outside, 'the image is as it was')
    await box.driver.remove('generic')
    t.same(await box.leftovers('generic'), [])
  }
})

t.test('one that was half way is given to nobody', async t => {
  const box = await openBox(t, kit)
  const { claimer } = box.driver
  if (claimer?.genericRoot === undefined) throw new Error('there are no generic machines here')
  const rootfs = makeRootfs(join(dir, 'half', 'rootfs'))
  rmSync(join(rootfs, 'sys'), { recursive: true, force: true })
  writeFileSync(join(rootfs, 'sys'), '')
  await box.driver.create({ ...box.spec('generic', { storageMb: 16 }), rootfs: claimer.genericRoot, anonymous: true })
  await t.rejects(claimer.claim(box.spec('generic', { rootfs, storageMb: 32 }), tell), { code: 'driver_failed' })
  t.equal((await box.driver.list())[0]?.phase, 'half-made')
  await t.rejects(claimer.claim(box.spec('generic', { storageMb: 32 }), tell), {
    code: 'driver_failed',
    message: /was made for nobody/,
  })
  await box.driver.remove('generic')
  t.same(await box.leftovers('generic'), [])
})
