/** Images are removed while rows of the database cannot be read, unless these may be made of them. */
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { imageUpkeep, type UpkeepDeps } from '../../../../../control/core/images/upkeep/upkeep.ts'
import { closing } from '../../../../../shared/closing.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { fakeClock } from '../../../../support/clock.ts'
import { control } from '../../../../support/control.ts'

const had = { reference: 'ghcr.io/had:1', digest: 'd1' }
const other = { reference: 'ghcr.io/other:1', digest: 'd2' }

/** Workspace `default` has pulled two images; `torn` is its sandbox with a machine of the first, or without one, and its row is no JSON. */
const made = async (t: Test, options: { readonly machine: boolean }) => {
  const { call, store, transition, kinds, dataDir } = await control(t)
  t.equal((await call('POST', '/sandboxes', { metadata: { name: 'torn' }, spec: {} })).status, 200)
  const [record] = await store.resources.everyOf('sandbox')
  if (!record) throw new Error('no record')
  if (options.machine) await transition.write([{ add: { id: 'm', owner: record, revision: '0', driver: 'fake' } }])
  const db = new BetterSqlite(join(dataDir, 'hutch.db'))
  t.teardown(() => db.close())
  const run = async (sql: string): Promise<void> => {
    db.exec(sql)
    // What the store remembers of records it forgets with the next write.
    await call('PUT', '/policies/forget', { spec: {} })
  }
  await run(`UPDATE instances SET image = '{"digest":"d1","rootfs":"/"}'; UPDATE resources SET body = '{'`)
  const pulled = new Map([had, other].map(one => [one.reference, one]))
  const collected: string[][] = []
  const warned: unknown[] = []
  const deps = {
    clock: fakeClock(),
    log: { ...silentLog, warn: (_event: string, { error }: { error: Error }) => void warned.push(error.message) },
    store,
    rules: kinds,
    images: {
      remoteName: (name: string) => name,
      offered: async () => new Set(),
      trees: async () => [],
      keyOf: (name: string) => name,
      built: { workspaces: async () => [], list: async () => [] },
      collect: async (inUse: ReadonlySet<string>) => {
        collected.push([...inUse])
        return []
      },
      pulling: {
        workspaces: async () => [],
        list: async () => [...pulled.values()],
        remove: async (_workspace: string, reference: string) => void pulled.delete(reference),
      },
    },
  } as unknown as UpkeepDeps
  const upkeep = imageUpkeep(deps, closing({ log: silentLog }))
  const remove = (one: typeof had, workspace = 'default') => upkeep.remove(workspace, [one] as never)
  return { call, run, upkeep, remove, pulled, collected, warned }
}

t.test('a sandbox that cannot be read keeps the image that its machine has, and no other', async t => {
  const { run, remove, upkeep, pulled, collected } = await made(t, { machine: true })
  await t.rejects(remove(had), {
    code: 'invalid_argument',
    message: 'imageName: "ghcr.io/had:1" is in use by sandbox torn',
  })
  await remove(other)
  t.same([...pulled.keys()], [had.reference])
  t.same(collected, [['d1']])
  t.equal(await upkeep.removeUnused('default'), 0)
  await run(`CREATE TEMP TABLE two AS SELECT * FROM instances; UPDATE two SET id = 'n', errors = '{'`)
  await run('INSERT INTO instances SELECT * FROM two')
  await t.rejects(
    remove(had),
    { message: /^imageName: sandbox torn cannot be read/ },
    'another of its machines says nothing',
  )
})

t.test('one without a machine may be made of any: that is said, with what to do', async t => {
  const { call, run, remove, upkeep, pulled } = await made(t, { machine: false })
  const said = 'sandbox torn cannot be read, and may be made of any; delete it, or mend its row of the database'
  await t.rejects(remove(had), { code: 'invalid_argument', message: `imageName: ${said}` })
  await t.rejects(upkeep.removeUnused('default'), {
    code: 'unavailable',
    message: `which images are unused is not known: ${said}`,
  })
  await remove(other, 'elsewhere')
  t.same([...pulled.keys()], [had.reference], 'it is none of another workspace')
  await run(`UPDATE resources SET status = 'TERMINATED' WHERE name = 'torn'`)
  await remove(had)
  t.equal(pulled.size, 0, 'one that is over needs nothing')
  pulled.set(had.reference, had)
  await run(`UPDATE resources SET status = 'DEACTIVATED' WHERE name = 'torn'`)
  t.equal((await call('DELETE', '/sandboxes/torn')).status, 200)
  t.equal(await upkeep.removeUnused('default'), 1, "deleted, it is in nobody's way")
})

t.test(
  'trees are collected while rows of machines cannot be read, unless it is the tree that one does not say',
  async t => {
    const { run, remove, collected, warned } = await made(t, { machine: true })
    await run(`UPDATE instances SET errors = '{', body = '{', address = '{'`)
    await remove(other, 'elsewhere')
    t.same(collected, [['d1']])
    for (const image of ['{', 'null', '{}']) {
      await run(`UPDATE instances SET image = '${image}'`)
      await remove(other, 'elsewhere')
    }
    t.equal(collected.length, 1)
    t.equal(warned.length, 3)
    for (const message of warned) t.match(message, /^image of m in the table instances of the database cannot be read/)
  },
)
