import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createOwners } from '../../../daemon/filesystem/owners.ts'
import { systemClock } from '../../../shared/clock.ts'

t.test('names come from files that may change, vanish or be anything', async t => {
  const dir = t.testdir({ passwd: 'root:x:0:0::/:/bin/sh\ndup:x:0:0::/:\nbroken\nme:x:7:7\n', group: 'wheel:x:0:\n' })
  let now = 0
  const clock = { ...systemClock(), elapsed: () => now }
  const owners = createOwners({ clock }, { passwd: join(dir, 'passwd'), group: join(dir, 'group') })
  const later = async () => {
    now += 2_000
    await owners.refresh()
  }
  await owners.refresh()
  t.equal(owners.user(0), 'root', 'the first of a number')
  t.equal(owners.user(7), 'me')
  t.equal(owners.user(8), '8')
  t.equal(owners.group(0), 'wheel')
  writeFileSync(join(dir, 'passwd'), 'toor:x:0:0::/:/bin/sh\nyou:x:8:8\n')
  await owners.refresh()
  t.equal(owners.user(0), 'root', 'not looked at again within a second')
  await later()
  t.equal(owners.user(0), 'toor')
  t.equal(owners.user(7), '7')
  rmSync(join(dir, 'passwd'))
  await later()
  t.equal(owners.user(0), '0')
  execFileSync('mkfifo', [join(dir, 'passwd')])
  await later()
  t.equal(owners.user(0), '0', 'a fifo does not hold it up')
  rmSync(join(dir, 'passwd'))
  writeFileSync(join(dir, 'passwd'), 'root:x:0:0\n')
  await later()
  t.equal(owners.user(0), 'root')
})
