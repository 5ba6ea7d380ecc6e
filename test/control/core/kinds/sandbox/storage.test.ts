/** What a sandbox may write: by its spec, out of what the disk of the host has. */
import t from 'tap'
import { control } from '../../../../support/control.ts'

const spec = (runtime: object) => ({ spec: { runtime } })

t.test('a create that the disk has no room for is told so, in the form of a create, and leaves nothing', async t => {
  const { call, poked } = await control(t, { diskMb: 3_000 })
  const make = (name: string, runtime: object) => call('POST', '/sandboxes', { metadata: { name }, ...spec(runtime) })
  t.equal((await make('half', { memory: 4096 })).status, 200, 'half of the memory: 2048')
  const before = poked.length
  const refused = await make('more', { memory: 2048 })
  t.match(refused, {
    status: 503,
    headers: { 'retry-after': '60' },
    body: { error: 'NO_ROOM', code: 503, status_code: 503, step: 'create', message: /952 MB left.*1024 MB are wanted/ },
  })
  t.equal((await call('GET', '/sandboxes/more')).status, 404)
  t.equal(poked.length, before)
  t.equal((await make('more', { memory: 2048, storageMb: 900 })).status, 200, 'less fits, and what it says counts')
  t.equal((await make('again', { memory: 64 })).status, 200, 'at least 32 MB')
  t.equal((await make('last', { memory: 128 })).status, 503)
  t.equal((await make('half', { memory: 64 })).status, 409, 'a name that is taken takes no room')
  t.equal((await call('DELETE', '/sandboxes/more')).status, 200)
  t.equal((await make('last', { memory: 1024 })).status, 200, 'what goes gives its room back')
})

t.test('two creates at once are not promised the same', async t => {
  const { call } = await control(t, { diskMb: 1_000 })
  const made = await Promise.all(
    ['a', 'b', 'c'].map(name => call('POST', '/sandboxes', { metadata: { name }, ...spec({ storageMb: 400 }) })),
  )
  t.same(made.map(({ status }) => status).toSorted(), [200, 200, 503])
})

t.test('a disk grows and does not shrink, but with a new machine', async t => {
  const { call } = await control(t, { diskMb: 10_000 })
  t.match(await call('POST', '/sandboxes', { metadata: { name: 'a' }, ...spec({ memory: 1024, storageMb: 1000 }) }), {
    status: 200,
    body: { spec: { runtime: { storageMb: 1000 } } },
  })
  const put = (runtime: object) => call('PUT', '/sandboxes/a', spec(runtime))
  t.match(await put({ storageMb: 900 }), {
    status: 400,
    body: { message: /spec.runtime.storageMb: cannot become less than 1000/ },
  })
  t.match(await put({ storageMb: 2000 }), { status: 200, body: { spec: { runtime: { storageMb: 2000 } } } })
  t.match(await put({ ttl: '4h' }), { status: 200, body: { spec: { runtime: { storageMb: 2000 } } } }, 'and stays')
  t.match(await put({ storageMb: 50_000 }), {
    status: 503,
    headers: { 'retry-after': '60' },
    body: { error: 'no_room' },
  })
  t.match(await put({ storageMb: 500, memory: 2048 }), { status: 200, body: { spec: { runtime: { storageMb: 500 } } } })
})

t.test('sizes that cannot be are refused by their name', async t => {
  const { call } = await control(t)
  for (const storageMb of [-1, 1.5, '100', 1_048_577, {}, [1]])
    t.match(
      await call('POST', '/sandboxes', { metadata: { name: 'a' }, ...spec({ storageMb }) }),
      { status: 400, body: { message: /spec.runtime.storageMb/ } },
      JSON.stringify(storageMb),
    )
  t.equal((await call('GET', '/sandboxes/a')).status, 404)
  const { body } = await call('POST', '/sandboxes', { metadata: { name: 'b' }, ...spec({ storageMb: 0 }) })
  t.equal(Object.hasOwn(body.spec.runtime, 'storageMb'), false, '0 says nothing')
})
