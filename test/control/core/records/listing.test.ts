import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'
import { become, erase } from '../../../support/records.ts'

/** Makes sandboxes a second apart. */
const make = async ({ call, clock }: TestControl, names: readonly string[], metadata: object = {}) => {
  for (const name of names) {
    await call('POST', '/sandboxes', { metadata: { ...metadata, name } })
    await clock.tick(1000)
  }
}

const list = async ({ call }: TestControl, query = '', version = '2026-04-28') =>
  (await call('GET', `/sandboxes${query}`, undefined, { headers: { 'svc-version': version } })).body

const namesOf = (items: { metadata: { name: string } }[]) => items.map(({ metadata }) => metadata.name)

/** Walks all pages; returns the names in order. */
const walk = async (made: TestControl, query: string): Promise<string[]> => {
  const names: string[] = []
  for (let cursor = ''; ; ) {
    const { data, meta } = await list(made, `?${query}${cursor && `&cursor=${cursor}`}`)
    names.push(...namesOf(data))
    if (meta.hasMore !== (meta.nextCursor !== '')) throw new Error('hasMore and nextCursor disagree')
    if (!meta.hasMore) return names
    cursor = meta.nextCursor
  }
}

const letters = ['c', 'a', 'e', 'b', 'd']

t.test('pages cover everything once, in each order', async t => {
  const made = await control(t)
  await make(made, letters)
  const orders = {
    'createdAt:desc': letters.toReversed(),
    'createdAt:asc': letters,
    'name:asc': letters.toSorted(),
    'name:desc': letters.toSorted().toReversed(),
  }
  for (const [sort, names] of Object.entries(orders))
    for (const limit of [1, 2, 3, 5, 50])
      t.same(await walk(made, `sort=${sort}&limit=${limit}`), names, `${sort} by ${limit}`)
  t.same(await walk(made, 'limit=2&sort='), letters.toReversed(), 'newest first unless told otherwise')
})

t.test('what is made or deleted during a walk does not repeat or hide the rest', async t => {
  const made = await control(t)
  await make(made, letters)
  const first = await list(made, '?limit=2')
  await make(made, ['new'])
  const gone = await made.store.resources.get({ kind: 'sandbox', workspace: 'default', parent: '', name: 'b' })
  await erase(made.store, gone?.uid ?? '', made.clock.now())
  const rest = await list(made, `?limit=50&cursor=${first.meta.nextCursor}`)
  t.same([...namesOf(first.data), ...namesOf(rest.data)], ['d', 'b', 'e', 'a', 'c'])
})

t.test('those of one millisecond are told apart', async t => {
  const made = await control(t)
  const names = Array.from({ length: 9 }, (_, index) => `s${index}`)
  await Promise.all(names.map(name => made.call('POST', '/sandboxes', { metadata: { name } })))
  t.same((await walk(made, 'limit=2')).toSorted(), names)
})

t.test('limit is 50 unless told, at most 200; total counts the workspace', async t => {
  const made = await control(t)
  await make(
    made,
    Array.from({ length: 210 }, (_, index) => `s${index}`),
  )
  t.match(await list(made), { data: { length: 50 }, meta: { hasMore: true, total: 210 } })
  t.match(await list(made, '?limit=1000'), { data: { length: 200 }, meta: { hasMore: true, total: 210 } })
  t.match(await list(made, '?q=s20'), { data: { length: 11 }, meta: { hasMore: false, nextCursor: '', total: 210 } })
  const bare = await list(made, '?limit=3&q=s20&sort=name:asc', '2026-04-16')
  t.equal(bare.length, 210, 'the first version knows no pages')
  t.equal(bare[0].metadata.name, 's209')
})

t.test('q looks in names, display names, label keys and values', async t => {
  const made = await control(t)
  await make(made, ['plain'])
  await make(made, ['shown'], { displayName: 'My NEEDLE box' })
  await make(made, ['keyed'], { labels: { needle: 'x' } })
  await make(made, ['valued'], { labels: { x: 'a-Needle-b' } })
  await make(made, ['needle-1'])
  t.same(await walk(made, 'q=%20NEEDLE%20&limit=2'), ['needle-1', 'valued', 'keyed', 'shown'])
  t.equal((await walk(made, 'q=n')).length, 5, 'one character is no filter')
  t.same(await walk(made, 'q=%25%25'), [], 'a wildcard is a character')
})

t.test('status filters, in any case, on every version; terminated ones are hidden unless asked for', async t => {
  const made = await control(t)
  await make(made, ['a', 'b', 'c'])
  const becomes = async (name: string, status: string) => {
    const found = await made.store.resources.get({ kind: 'sandbox', workspace: 'default', parent: '', name })
    if (found) await become(made.store, found.uid, { status })
  }
  await becomes('a', 'TERMINATED')
  await becomes('b', 'DEPLOYED')
  for (const version of ['2026-04-16', '2026-04-28']) {
    const names = async (query: string) => {
      const answer = await list(made, query, version)
      return namesOf(answer.data ?? answer)
    }
    t.same(await names(''), ['c', 'b'])
    t.same(await names('?showTerminated=true'), ['c', 'b', 'a'])
    t.same(await names('?showTerminated=1'), ['c', 'b'], 'only true is true')
    t.same(await names('?status=deployed'), ['b'])
    t.same(await names('?status=DEPLOYED,%20deploying,'), ['c', 'b'])
    t.same(await names('?status=terminated'), ['a'], 'asked for by name')
    t.same(await names('?status=DEPLOYED&showTerminated=true'), ['b'], 'status wins')
  }
})

t.test('anchor=end is the last page', async t => {
  const made = await control(t)
  await make(made, letters)
  const end = await list(made, '?anchor=end&limit=2')
  t.same(namesOf(end.data), ['a', 'c'])
  t.match(end.meta, { hasMore: false, nextCursor: '', total: 5 })
  t.same(namesOf((await list(made, '?anchor=end&limit=2&sort=createdAt:asc')).data), ['b', 'd'])
})

t.test('a cursor is bound to its query and lasts a day', async t => {
  const made = await control(t)
  await make(made, letters)
  await made.addWorkspace('team')
  const { meta } = await list(made, '?workspace=default&limit=2&q=')
  const cursor = `cursor=${meta.nextCursor}`
  const status = async (query: string) => (await made.call('GET', `/sandboxes?${query}&${cursor}`)).status
  t.equal(await status('workspace=default&limit=2'), 200)
  t.equal(await status('workspace=default&limit=7'), 200, 'pages may change their size')
  t.equal(await status('workspace=default'), 200)
  for (const query of ['workspace=team', 'workspace=default&sort=name:asc', 'workspace=default&q=ab'])
    t.equal(await status(query), 400, query)
  t.equal(await status('workspace=default&status=DEPLOYED'), 400)
  t.equal(await status('workspace=default&externalId=x'), 400)
  t.equal(await status('workspace=default&showTerminated=true'), 400)
  await made.clock.tick(24 * 3_600_000 + 1)
  t.equal(await status('workspace=default'), 400)
})

t.test('items of a list carry no events', async t => {
  const made = await control(t)
  await make(made, ['a'])
  t.equal(Object.hasOwn((await list(made)).data[0], 'events'), false)
  t.equal(Object.hasOwn((await list(made, '', '2026-04-16'))[0], 'events'), false)
})
