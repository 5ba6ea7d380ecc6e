/** What may be said of volumes in the spec of a sandbox, who holds one, and what it costs. */
import t from 'tap'
import { control, type TestControl } from '../../../../support/control.ts'

const volume = ({ call }: TestControl, name: string, spec: object = {}) =>
  call('POST', '/volumes', { metadata: { name }, spec })

const sandbox = ({ call }: TestControl, name: string, volumes: unknown, more: object = {}) =>
  call('POST', '/sandboxes', { metadata: { name }, spec: { volumes, ...more } })

t.test('what is wrong in an attachment is named, and nothing is made', async t => {
  const c = await control(t)
  await volume(c, 'data')
  await volume(c, 'far', { region: 'eu-fra-1' })
  const own = { name: 'own', mountPath: '/own', type: 'ephemeral' }
  const at = (mountPath: string, name = 'data') => ({ name, mountPath })
  const wrong: readonly [unknown, RegExp][] = [
    [[at('data')], /spec.volumes.0.mountPath: must be an absolute path/],
    [[at('/a/../proc')], /spec.volumes.0.mountPath: must not contain "\.\."/],
    [[at('/a\nb')], /spec.volumes.0.mountPath: must not contain control characters/],
    ...['/', '/proc', '/proc/sys', '//dev/', '/sys/fs', '/.hutch', '/.hutch/bin', '/var', '/var/lib/hutchd'].map(
      path => [[at(path)], /spec.volumes.0.mountPath: would cover/] as [unknown, RegExp],
    ),
    [[at('/a'), at('/b')], /spec.volumes.1.name: "data" is there twice/],
    [[at('/a'), { ...own, sizeMb: 1, mountPath: '/a/b' }], /spec.volumes.1.mountPath: .* inside one another/],
    [[at('/a', 'none')], /spec.volumes.0.name: volume "none" not found/],
    [[at('/a', 'far')], /spec.volumes.0.name: volume "far" is in region "eu-fra-1"/],
    [[own], /spec.volumes.0.sizeMb: is missing/],
    [[{ ...own, sizeMb: 0 }], /spec.volumes.0.sizeMb/],
    [[{ ...own, sizeMb: 1, name: '../x' }], /spec.volumes.0.name/],
    [[{ ...own, sizeMb: 1, type: 'other' }], /spec.volumes.0.type/],
    [Array.from({ length: 9 }, (_, n) => ({ ...own, sizeMb: 1, name: `n${n}`, mountPath: `/n${n}` })), /at most 8/],
  ]
  for (const [volumes, words] of wrong) {
    const { status, body } = await sandbox(c, 'a', volumes)
    t.equal(status, 400, JSON.stringify(volumes))
    t.match(body.message, words)
  }
  t.equal(await c.store.resources.count('sandbox', 'default'), 0)
})

t.test('a volume has one holder at a time, of whatever kind, and is kept while it has one', async t => {
  const c = await control(t)
  const { call } = c
  await volume(c, 'data')
  const mine = [{ name: 'data', mountPath: '/data//' }]
  t.match((await sandbox(c, 'first', mine)).body.spec.volumes, [{ name: 'data', mountPath: '/data', readOnly: false }])
  t.match(await sandbox(c, 'second', mine), { status: 409, body: { code: 409, message: /sandbox "first"/ } })
  t.match(await call('POST', '/agents', { metadata: { name: 'a' }, spec: { volumes: mine } }), { status: 409 })
  t.equal((await call('GET', '/volumes/data')).body.state.attachedTo, 'sandbox:first')
  t.equal((await call('GET', '/volumes')).body.data[0].state.attachedTo, 'sandbox:first')
  t.match(await call('DELETE', '/volumes/data'), { status: 409, body: { error: 'in_use' } })
  await c.addWorkspace('other')
  const theirs = { headers: { 'x-svc-workspace': 'other' } }
  t.match(
    await call('POST', '/sandboxes', { metadata: { name: 's' }, spec: { volumes: mine } }, theirs),
    { status: 400, body: { message: /not found/ } },
    'of another workspace it is not there',
  )
  t.match((await call('PUT', '/sandboxes/first', { spec: { volumes: mine } })).status, 200, 'the same again')
  t.match((await call('PUT', '/sandboxes/first', { spec: {} })).body.spec.volumes, [{ name: 'data' }])
  for (const volumes of [[], [{ name: 'data', mountPath: '/else' }]])
    t.match(await call('PUT', '/sandboxes/first', { spec: { volumes } }), {
      status: 400,
      body: { message: 'spec.volumes: cannot be changed: volumes are attached at creation' },
    })
})

t.test('what was provisioned is metered from its creation to its end', async t => {
  const c = await control(t)
  const { call, clock, store } = c
  await volume(c, 'data', { size: 2048 })
  const record = await store.resources.get({ kind: 'volume', workspace: 'default', parent: '', name: 'data' })
  const uid = record?.uid ?? ''
  await clock.tick(10_000)
  t.equal((await call('PUT', '/volumes/data', { metadata: { labels: { a: 'b' } }, spec: { size: 4096 } })).status, 200)
  await clock.tick(5_000)
  t.equal((await call('PUT', '/volumes/data', { spec: { size: 4096 } })).status, 200)
  await clock.tick(5_000)
  t.equal((await call('DELETE', '/volumes/data')).status, 200)
  await clock.tick(60_000)
  const found = await store.meter.intervals(uid)
  t.match(found[0], { resourceType: 'volume', resourceName: 'data', dimension: 'volume_storage_gbs', quantity: 2 })
  const usage = found.reduce((sum, { quantity, from, to }) => sum + quantity * ((to ?? Infinity) - from), 0)
  t.equal(usage, 1000 * (2 * 10 + 4 * 10), 'GB times milliseconds, closed at its end')
})

t.test('a size that the disk has not got, and a host without volumes, are refused', async t => {
  const small = await control(t, { diskMb: 2000 })
  t.match(await volume(small, 'a', { size: 2001 }), { status: 503, body: { error: 'no_room' } })
  t.equal((await volume(small, 'a', { size: 1500 })).status, 200)
  t.match(await small.call('PUT', '/volumes/a', { spec: { size: 4000 } }), { status: 503, body: { error: 'no_room' } })
  const own = { name: 'own', mountPath: '/own', type: 'ephemeral', sizeMb: 2001 }
  t.match(await sandbox(small, 's', [own]), { status: 503 })
  const none = await control(t, { volumes: false })
  t.match(await volume(none, 'a'), { status: 400, body: { error: 'not_available' } })
  t.match(await sandbox(none, 's', [own]), { status: 400, body: { message: /volumes/ } })
})
