/** The parts of a claim: in which order they are done, and what is found of one that ended between them. */
import { rmSync } from 'node:fs'
import t from 'tap'
import type { Claimer } from '../../../../control/drivers/driver.ts'
import { openOci } from '../../../../control/drivers/oci/index.ts'
import { filesOf } from '../../../../control/drivers/oci/layout.ts'
import { readMarkerNow } from '../../../../control/drivers/oci/marker.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { silentLog } from '../../../../shared/log.ts'
import { killedClaim } from '../../../support/killed-host.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh, traces } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())
const clock = systemClock()
const kinds = ['image', 'generic'] as const

const claimerOf = ({ claimer }: { readonly claimer?: Claimer | undefined }) => {
  if (claimer?.genericRoot === undefined) throw new Error('there are no generic machines here')
  return { ...claimer, genericRoot: claimer.genericRoot }
}

const whole = { ready: true, memoryMb: 256, disk: { room: 32 }, image: { path: kit.rootfs } }
/** One of an image that is not claimed yet may be claimed again; a generic one is between two roots, and is not. */
const before = { image: { ready: true, memoryMb: 128, anonymous: true }, generic: { ready: false, memoryMb: 128 } }

for (const kind of kinds) {
  t.test(
    `of ${kind}: nothing says that it is claimed before its daemon is told; it is claimed when both are done`,
    async t => {
      const box = await openBox(t, kit)
      const { genericRoot, claim } = claimerOf(box.driver)
      const spec = box.spec('a', { storageMb: 32 })
      const rootfs = kind === 'generic' ? genericRoot : kit.rootfs
      await box.driver.create({ ...spec, rootfs, storageMb: 16, memoryMb: 128, anonymous: true })
      const files = filesOf(box.dataDir, 'a')
      const marker = () => readMarkerNow(files.marker)
      // As of one that a version before has made, whose output is elsewhere.
      rmSync(files.output)
      let answered = false
      await claim(spec, async () => {
        t.match(marker(), before[kind], 'as it was')
        while (marker()?.memoryMb !== whole.memoryMb) await clock.sleep(1)
        answered = true
      })
      t.ok(answered, 'its daemon has answered')
      t.match(marker(), whole)
      await claim({ ...spec, memoryMb: 192 }, async () => {})
      t.match(marker(), { memoryMb: 192 }, 'also of one whose daemon answers at once')
      const refused = claim({ ...spec, memoryMb: 320 }, async () => {
        throw new Error('it is somebody else’s')
      })
      await t.rejects(refused, /somebody else/)
      t.match(marker(), { memoryMb: 320 }, 'what had begun is done before anybody hears of it, and removes the machine')
    },
  )

  for (const moment of ['told', 'written'] as const)
    t.test(`of ${kind}: its host is killed when its daemon was ${moment}`, async t => {
      const { config, spec, names, ended } = await killedClaim(t, kit, kind, moment)
      t.same(ended, [null, 'SIGKILL'])
      const { marker } = filesOf(config.dataDir, 'a')
      t.match(readMarkerNow(marker), moment === 'told' ? before[kind] : whole)
      const driver = await openOci({ ...config, slotsAhead: 0 }, { log: silentLog, clock })
      const claim = claimerOf(driver).claim(spec, async () => {})
      if (kind === 'generic' && moment === 'told') {
        t.match(await driver.list(), [{ id: 'a', phase: 'half-made' }])
        await t.rejects(claim, { code: 'driver_failed', message: /was made for nobody/ })
      } else {
        t.equal((await sh(await claim, 'hostname; ls /bin/busybox')).out, 'box\n/bin/busybox\n', 'it is claimed again')
        t.match(readMarkerNow(marker), whole)
      }
      await driver.remove('a')
      t.same(await driver.list(), [])
      await driver.close()
      t.same(traces(names), [])
    })
}
