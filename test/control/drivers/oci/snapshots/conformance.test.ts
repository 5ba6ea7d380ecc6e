import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { snapshotterSuite } from '../../../../conformance/snapshotter.ts'
import { whyNoMachines } from '../../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../../support/oci.ts'

const why = whyNoMachines('runc')
if (why) t.pass(`skipped: ${why}`, { skip: why })
else
  for (const [name, diskQuota] of [
    ['disks that are files', 'auto'],
    ['directories without end', 'off'],
  ] as const) {
    const kit = makeKit(t.testdir())
    snapshotterSuite(t, `oci, ${name}`, async t => {
      const box = await openBox(t, kit, { runtime: 'runc', settings: { slotsAhead: 2, diskQuota } })
      return {
        ...box,
        reopen: () => box.reopen(),
        mute: id => box.spec(id, { rootfs: join(box.dataDir, 'no-such-image') }),
        sh,
        leftovers: async id =>
          [`snapshots/${id}`, `snapshots/${id}.draft`, `machines/${id}`].filter(path =>
            existsSync(join(box.dataDir, path)),
          ),
      }
    })
  }
