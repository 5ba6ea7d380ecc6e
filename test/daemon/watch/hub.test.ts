import '../../support/native.ts'
import { mkdirSync, readdirSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { InotifyEvent } from '../../../daemon/native/inotify/inotify.ts'
import { createHub, type Listener } from '../../../daemon/watch/hub.ts'

/** inotify instances this process holds. */
const instances = () =>
  readdirSync('/proc/self/fd').filter(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === 'anon_inode:inotify'
    } catch {
      return false // the descriptor the listing itself used
    }
  }).length

const ours = { follow: true, user: undefined }
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

/** A listener, and a promise of the first event with a given name. */
const listening = () => {
  const waiting = new Map<string, (event: InotifyEvent) => void>()
  const seen: InotifyEvent[] = []
  const listener: Listener = {
    event(event) {
      seen.push(event)
      waiting.get(event.name)?.(event)
    },
    drained() {},
    overflowed() {},
  }
  const named = (name: string) => new Promise<InotifyEvent>(resolve => waiting.set(name, resolve))
  return { listener, named, seen }
}

t.test('all watches share one instance, which lives as long as there are watches', async t => {
  const dir = t.testdir({ a: {}, b: {} })
  const before = instances()
  const hub = createHub()
  t.equal(instances(), before, 'none before it is needed')
  const [one, two] = [listening(), listening()]
  const a = hub.add(join(dir, 'a'), ours, one.listener)
  const b = hub.add(join(dir, 'b'), ours, two.listener)
  t.equal(hub.add(join(dir, 'a'), ours, two.listener), a, 'the same directory is the same watch')
  t.equal(instances(), before + 1)

  const both = Promise.all([one.named('x'), two.named('x')])
  writeFileSync(join(dir, 'a/x'), '')
  await both
  hub.release(a, one.listener)
  const second = two.named('y')
  writeFileSync(join(dir, 'a/y'), '')
  await second
  t.notOk(
    one.seen.some(({ name }) => name === 'y'),
    'a listener that left hears nothing',
  )
  hub.release(a, two.listener)
  hub.release(b, two.listener)
  t.equal(instances(), before, 'the last one closes it')
})

t.test('a directory that cannot be watched leaves nothing open', async t => {
  const dir = t.testdir({ file: '' })
  const before = instances()
  const hub = createHub()
  t.throws(() => hub.add(join(dir, 'none'), ours, listening().listener), { code: 'ENOENT' })
  t.throws(() => hub.add(join(dir, 'file'), ours, listening().listener), { code: 'ENOTDIR' })
  t.equal(instances(), before)
})

t.test('it starts again after everything was removed', async t => {
  const dir = t.testdir({ a: {} })
  const hub = createHub()
  t.teardown(hub.close)
  const first = listening()
  hub.add(join(dir, 'a'), ours, first.listener)
  const gone = first.named('')
  rmdirSync(join(dir, 'a'))
  await gone
  mkdirSync(join(dir, 'a'))
  const second = listening()
  hub.add(join(dir, 'a'), ours, second.listener)
  const event = second.named('z')
  writeFileSync(join(dir, 'a/z'), '')
  t.equal((await event).name, 'z')
})
