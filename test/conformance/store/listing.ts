import type { Test } from 'tap'
import type { Listing, Resource, Resources, Sort, WritableStore } from '../../../control/core/store/store.ts'
import { dice, erase, put, record } from '../../support/records.ts'
import type { Open } from '../store.ts'

const sorts: readonly Sort[] = ['createdAt:desc', 'createdAt:asc', 'name:asc', 'name:desc']
const statuses = ['DEPLOYED', 'FAILED', 'TERMINATED']

/** Many with equal times, names of differing parents, labels and external ids; and neighbours that must not show. */
const fill = async (store: WritableStore): Promise<Resource[]> => {
  const roll = dice(1)
  const made: Resource[] = []
  for (let index = 0; index < 120; index++) {
    const metadata = {
      createdBy: '',
      updatedBy: '',
      ...(index % 5 === 0 ? { displayName: `Große Kiste ${index}` } : {}),
      ...(index % 7 === 0 ? { labels: { Team: `Blue_${index % 3}%` } } : {}),
      ...(index % 11 === 0 ? { externalId: `e-${index % 2}` } : {}),
    }
    made.push(
      record({
        name: `box-${Math.floor(roll() * 60)}-${index}`,
        uid: `u-${Math.floor(roll() * 1e9)}`,
        parent: index % 10 === 0 ? 'owner' : '',
        status: statuses[Math.floor(roll() * 3)] as string,
        createdAt: Math.floor(roll() * 20),
        metadata,
      }),
    )
  }
  for (const one of made) await put(store, one)
  await put(store, record({ name: 'alien', workspace: 'other' }))
  await put(store, record({ name: 'agent', uid: 'agent', kind: 'agent' }))
  return made
}

const byCodeUnit = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0)
const valueOf = (one: Resource, sort: Sort) => (sort.startsWith('name') ? one.name : one.createdAt)

/** The same listing, the slow way. */
const expected = (all: readonly Resource[], listing: Omit<Listing, 'limit'>): string[] => {
  const { sort, q } = listing
  const sign = sort.endsWith('asc') ? 1 : -1
  const text = ({ name, metadata }: Resource) =>
    [name, metadata.displayName ?? '', ...Object.entries(metadata.labels ?? {}).flat()].map(part => part.toLowerCase())
  return all
    .filter(one => listing.parent === undefined || one.parent === listing.parent)
    .filter(one => listing.statuses === undefined || listing.statuses.includes(one.status))
    .filter(one => !listing.exceptStatuses?.includes(one.status))
    .filter(one => listing.externalId === undefined || one.metadata.externalId === listing.externalId)
    .filter(one => !q || text(one).some(part => part.includes(q)))
    .sort((a, b) => sign * (byCodeUnit(valueOf(a, sort), valueOf(b, sort)) || byCodeUnit(a.uid, b.uid)))
    .map(({ uid }) => uid)
}

/** Follows the pages to the end. */
const walk = async (resources: Resources, listing: Omit<Listing, 'limit'>, limit: number): Promise<string[]> => {
  const uids: string[] = []
  let after: Listing['after']
  for (;;) {
    const { items, hasMore, last } = await resources.list({ ...listing, limit, ...(after ? { after } : {}) })
    uids.push(...items.map(({ uid }) => uid))
    if (!hasMore || !last) return uids
    after = last
  }
}

const filters: readonly Partial<Listing>[] = [
  {},
  { parent: '' },
  { parent: 'owner' },
  { parent: 'nobody' },
  { statuses: ['FAILED'] },
  { statuses: ['FAILED', 'TERMINATED'] },
  { statuses: [] },
  { exceptStatuses: ['TERMINATED'] },
  { statuses: ['FAILED', 'DEPLOYED'], exceptStatuses: ['FAILED'] },
  { parent: 'owner', statuses: ['FAILED', 'TERMINATED'] },
  { externalId: 'e-1' },
  { externalId: 'e-0', exceptStatuses: ['FAILED'] },
  { q: 'große' },
  { q: 'team' },
  { q: 'e_1%' },
  { q: 'box-1', exceptStatuses: ['DEPLOYED'] },
  { q: 'nothing' },
  { q: '%' },
]

export const listingSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('every sort, filter and page size gives each item once and in order', async t => {
    const store = await open(t)
    const { resources } = store
    const all = await fill(store)
    for (const sort of sorts)
      for (const filter of filters) {
        const listing = { kind: 'sandbox', workspace: 'main', sort, ...filter }
        const wanted = expected(all, listing)
        for (const limit of [7, 200])
          t.same(await walk(resources, listing, limit), wanted, `${sort} ${JSON.stringify(filter)} by ${limit}`)
      }
    t.equal(await resources.count('sandbox', 'main'), all.length)
  })

  await t.test(
    'a walk loses nothing and repeats nothing when the last item given out is removed meanwhile',
    async t => {
      const store = await open(t)
      const { resources } = store
      const all = await fill(store)
      const listing = { kind: 'sandbox', workspace: 'main', sort: 'createdAt:desc' as const, limit: 50 }
      const { items } = await resources.list(listing)
      const last = items.at(-1) as Resource
      await erase(store, last.uid, 1)
      const rest = await resources.list({ ...listing, limit: 200, after: { value: last.createdAt, uid: last.uid } })
      t.same(
        [...items, ...rest.items].map(({ uid }) => uid),
        expected(all, listing),
      )
      t.equal(rest.hasMore, false)
    },
  )
}
