/** Every listing in every version, from the declared examples: its shape, pages, cursors, order and filters. */
import t, { type Test } from 'tap'
import { statusesOf, type Kind } from '../../../../control/core/records/kind.ts'
import { control, type TestControl } from '../../../support/control.ts'
import { collectionOf, exampleNamed, makeExample, nameOf, withoutMachines } from '../../../support/kinds.ts'

const versions = ['2026-04-16', '2026-04-28'] as const

/** Names that are listed: those that were made, and those that are there without. */
const listed = ({ implicit = [] }: Kind, names: readonly string[]): string[] => [...implicit, ...names].toSorted()

const at = (version: string) => ({ headers: { 'svc-version': version } })

/** Makes three of a kind, a second apart; resolves with the names in that order. */
const three = async (made: TestControl, kind: Kind): Promise<{ collection: string; names: string[] }> => {
  const { collection, name } = await makeExample(made, kind, undefined)
  const names = [name]
  for (const given of ['beta', 'alpha']) {
    await made.clock.tick(1000)
    const answer = await made.call('POST', collection, exampleNamed(kind, given))
    if (answer.status !== 200) throw new Error(`${kind.kind}: ${answer.text}`)
    names.push(nameOf(kind, answer.body))
  }
  return { collection, names }
}

const older = async (t: Test, { call }: TestControl, kind: Kind, collection: string, names: readonly string[]) => {
  const { status, body } = await call('GET', collection, undefined, at(versions[0]))
  if (kind.listedSince) return t.equal(status, 404, 'it does not exist in older versions')
  t.ok(Array.isArray(body), 'a bare array')
  t.same(body.map((item: unknown) => nameOf(kind, item)).toSorted(), listed(kind, names))
  if (!kind.olderOffset)
    return t.equal(
      (await call('GET', `${collection}?limit=1`, undefined, at(versions[0]))).body.length,
      listed(kind, names).length,
    )
  const part = await call('GET', `${collection}?limit=1&offset=1`, undefined, at(versions[0]))
  return t.same(
    part.body.map((item: unknown) => nameOf(kind, item)),
    names.toReversed().slice(1, 2),
    'limit from offset on',
  )
}

const bare = async (t: Test, { call }: TestControl, kind: Kind, collection: string, names: readonly string[]) => {
  const { body } = await call('GET', `${collection}?limit=1&q=nothing&sort=name:asc&cursor=x`)
  t.ok(Array.isArray(body), 'a bare array in every version, whatever is asked')
  t.same(body.map((item: unknown) => nameOf(kind, item)).toSorted(), listed(kind, names))
}

const walk = async ({ call }: TestControl, kind: Kind, address: string): Promise<string[]> => {
  const names: string[] = []
  for (let cursor = ''; ; ) {
    const { status, body, text } = await call('GET', `${address}${cursor && `&cursor=${cursor}`}`)
    if (status !== 200) throw new Error(text)
    names.push(...body.data.map((item: unknown) => nameOf(kind, item)))
    if (body.meta.hasMore !== (body.meta.nextCursor !== '')) throw new Error('hasMore and nextCursor disagree')
    if (!body.meta.hasMore) return names
    cursor = body.meta.nextCursor
  }
}

const paged = async (t: Test, made: TestControl, kind: Kind, collection: string, names: readonly string[]) => {
  const { call } = made
  const { fallback, max } = kind.pageLimit
  t.match((await call('GET', collection)).body, { data: Array, meta: { hasMore: false, nextCursor: '', total: 3 } })
  for (const limit of [1, 2, fallback, max, max + 1])
    t.same(await walk(made, kind, `${collection}?sort=createdAt:asc&limit=${limit}`), names, `pages of ${limit}`)
  t.same(await walk(made, kind, `${collection}?limit=2&sort=createdAt:desc`), names.toReversed())
  t.same(await walk(made, kind, `${collection}?limit=1&sort=name:asc`), names.toSorted())
  t.equal((await call('GET', `${collection}?limit=0`)).status, 400)
  const { meta } = (await call('GET', `${collection}?limit=1`)).body
  t.equal(
    (await call('GET', `${collection}?limit=1&sort=name:asc&cursor=${meta.nextCursor}`)).status,
    400,
    'another order',
  )
  t.equal((await call('GET', `${collection}?cursor=x.y`)).status, 400)
  const found = await walk(made, kind, `${collection}?q=${names[1]?.slice(0, 4).toUpperCase()}`)
  t.ok(found.includes(names[1] as string) && found.length < 3, 'q looks in names')
  if (kind.anchored) {
    const end = await call('GET', `${collection}?anchor=end&limit=1&sort=createdAt:asc`)
    t.match(end.body, { data: [{}], meta: { hasMore: false, total: 3 } })
    t.equal(nameOf(kind, end.body.data[0]), names[2])
  }
}

const filtered = async (t: Test, { call }: TestControl, kind: Kind, collection: string) => {
  if (!kind.filtersStatus || statusesOf(kind).length === 0) return
  const [first] = (await call('GET', collection)).body.data
  const count = async (status: string, version: string = versions[1]) => {
    const { body } = await call('GET', `${collection}?status=${status}`, undefined, at(version))
    return (body.data ?? body).length
  }
  t.ok((await count(first.status.toLowerCase())) > 0, 'in any case')
  t.equal(await count('UPLOADING'), 0)
  t.equal(await count('UPLOADING', versions[0]), kind.filterStatusOnEveryVersion ? 0 : 3)
  t.equal(await count(statusesOf(kind).join(',')), 3, 'all of them are no filter')
  for (const version of versions)
    t.equal((await call('GET', `${collection}?status=SLEEPY`, undefined, at(version))).status, 400)
}

t.test('every listing', async t => {
  const { kinds } = await control(t)
  for (const kind of withoutMachines(kinds.values())) {
    if (!kind.verbs.includes('list') || !kind.verbs.includes('create')) continue
    await t.test(kind.kind, async t => {
      const made = await control(t)
      const none = await made.call('GET', await collectionOf(made, kind), undefined, at(versions[0]))
      if (!kind.listedSince) t.equal(none.body.length, listed(kind, []).length, 'nobody made one')
      const { collection, names } = await three(made, kind)
      await older(t, made, kind, collection, names)
      if (!kind.paginated) return bare(t, made, kind, collection, names)
      await paged(t, made, kind, collection, names)
      return filtered(t, made, kind, collection)
    })
  }
})
