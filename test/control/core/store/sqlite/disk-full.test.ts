import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { openStore } from '../../../../../control/core/store/sqlite/open.ts'
import type { Write } from '../../../../../control/core/store/store.ts'
import { errno, isError } from '../../../../../shared/errors.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { change, instanceOf, record } from '../../../../support/records.ts'

const run = promisify(execFile)

/** A file system of 2 MiB, or undefined where mounting is not allowed. */
const smallDisk = async (t: Test): Promise<string | undefined> => {
  // Not a testdir: that is removed before the teardown that unmounts it.
  const dir = mkdtempSync(join(tmpdir(), 'hutch-small-disk-'))
  t.teardown(() => rmdirSync(dir))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', dir])
  } catch {
    return undefined // Not root, or no right to mount: the caller skips and says so.
  }
  t.teardown(() => run('umount', ['-l', dir]))
  return dir
}

/** Leaves no page for a file to grow. */
const fill = (file: string) => {
  for (const size of [65_536, 4_096])
    for (;;)
      try {
        writeFileSync(file, Buffer.alloc(size), { flag: 'a' })
      } catch (error) {
        if (errno(error) !== 'ENOSPC') throw error
        break
      }
}

t.test('a full disk is a typed error that changes nothing, and the store goes on once there is room', async t => {
  const dir = await smallDisk(t)
  if (dir === undefined) {
    t.pass('a full disk', { skip: 'mounting a tmpfs is not allowed here' })
    return
  }
  const store = await openStore({ path: join(dir, 'hutch.db') }, { log: silentLog })
  t.teardown(() => store.close())
  const { resources, meter } = store
  const ballast = 'x'.repeat(20_000)
  const metered = { rates: [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 1 }] }
  const event = { time: 1, type: 't', status: 's', message: 'made' }
  const make = (index: number) => {
    const resource = record({ name: `box-${index}`, spec: { ballast } })
    const writes: Write[] = [
      { type: 'create', resource, event },
      { type: 'addInstance', instance: instanceOf(resource), metered },
    ]
    return store.apply(writes, 1)
  }
  await make(0)
  fill(join(dir, 'ballast'))
  let made = 1
  let failure: unknown
  while (!failure && made < 200)
    await make(made).then(
      () => made++,
      error => void (failure = error),
    )
  t.ok(isError(failure, 'unavailable'), 'the write that found no room failed with a typed error')
  t.match(failure, { retry: true, message: /full/ })

  t.equal((await resources.everyOf('sandbox')).length, made, 'what was acknowledged is there and nothing else')
  t.same(await resources.events(`uid-box-${made}`), [])
  t.same(await meter.intervals(`uid-box-${made}`), [])

  rmSync(join(dir, 'ballast'))
  await make(made)
  await change(store, ['uid-box-0', 1], { status: 'FAILED' }, 2_000)
  await meter.checkpoint(3_000)
  t.match(await resources.getByUid('uid-box-0'), { status: 'FAILED', version: 2 })
})
