/** What can be wrong with a machine that was made for nobody when somebody is to get it. */
import { renameSync, rmSync } from 'node:fs'
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
