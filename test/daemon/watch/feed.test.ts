import '../../support/native.ts'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { createPaths } from '../../../daemon/paths.ts'
import { createFilePort } from '../../../daemon/filesystem/native-port.ts'
import { createFeed } from '../../../daemon/watch/feed.ts'
import { createHub } from '../../../daemon/watch/hub.ts'
import { watchRoutes } from '../../../daemon/watch/routes.ts'
import { dispatcher } from '../../../shared/http/dispatch.ts'
import { requestOf } from '../../support/call.ts'
import { randomIds } from '../../../shared/ids.ts'
import { silentLog } from '../../../shared/log.ts'
import { json, Reply, type Pump } from '../../../shared/route.ts'
import { fakeClock } from '../../support/clock.ts'

t.test('lines come out in order, and what a slow reader would pile up is dropped and told', async t => {
  const lost: string[] = []
  const feed = createFeed(() => {
    lost.push('lost')
    feed.push('recovered\n')
  }, 100)
  const out = new PassThrough({ highWaterMark: 16 })
  const stop = new AbortController()
  feed.push('one\n')
  feed.push('two\n')
  const pumping = feed.pump(out, stop.signal)
  await once(out, 'readable')
  t.equal(String(out.read()), 'one\ntwo\n')

  feed.push(`${'x'.repeat(40)}\n`)
  await once(out, 'readable')
  // The reader does not read: the pump waits, and more than the limit piles up.
  feed.push(`${'y'.repeat(60)}\n`)
  feed.push(`${'z'.repeat(60)}\n`)
  t.equal(String(out.read()), `${'x'.repeat(40)}\n`)
  await once(out, 'readable')
  t.equal(String(out.read()), 'recovered\n')
  t.strictSame(lost, ['lost'])
  stop.abort()
  await pumping
})

t.test('a quiet watch says that it lives every 30 seconds', async t => {
  const dir = t.testdir()
  const clock = fakeClock()
  const hub = createHub()
  const paths = createPaths({ workdir: () => dir, home: () => undefined })
  const bounds = watchRoutes({ clock, files: createFilePort(undefined), hub, paths, user: () => undefined })
  const surface = { decoding: 'whole' as const, headers: () => ({}), renderError: () => json({}) }
  const { dispatch } = dispatcher(bounds, surface, { log: silentLog, ids: randomIds(), elapsed: () => 0 })
  const gone = new AbortController()
  const answer = await dispatch(requestOf('GET', '/watch/filesystem/'), gone)
  if (!(answer instanceof Reply)) throw new Error('not a reply')
  const out = new PassThrough()
  const pumping = (answer.body as Pump)(out, gone.signal)
  await clock.tick(29_999)
  t.equal(out.read(), null)
  await clock.tick(1)
  t.equal(String(out.read()), '[keepalive]\n')
  gone.abort()
  await pumping
  await clock.tick(60_000)
  t.equal(out.read(), null)
})
