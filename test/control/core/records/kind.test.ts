/** A kind is one definition: two that no host has get everything the sandbox has. */
import t from 'tap'
import { stateTable } from '../../../../control/core/transitions/state-table.ts'
import { defineKind } from '../../../../control/core/records/define-kind.ts'
import type { Kind } from '../../../../control/core/records/kind.ts'
import { namesFrom } from '../../../../control/core/records/naming.ts'
import { fail } from '../../../../shared/errors.ts'
import { s } from '../../../../shared/schema.ts'
import { control } from '../../../support/control.ts'

const gadget: Kind = defineKind({
  kind: 'gadget',
  plural: 'gadgets',
  scope: 'gadgets',
  param: 'gadgetId',
  names: namesFrom('gadget'),
  spec: s.object({ sizeMb: s._default(s.int().check(s.gte(1)), 64) }),
  life: stateTable('BUSY', {
    BUSY: { made: 'READY', grow: 'BUSY', delete: 'DELETING' },
    READY: { grow: 'BUSY', delete: 'DELETING' },
    DELETING: { delete: 'DELETING', gone: 'GONE' },
    GONE: { delete: 'GONE' },
  }),
  hiddenStatuses: ['GONE'],
  replaceableStatuses: ['GONE'],
  removal: 'reconciled',
  paginated: true,
  accept(spec, previous) {
    const sizeMb = spec?.sizeMb ?? 64
    const before = previous?.spec['sizeMb']
    if (typeof before === 'number' && sizeMb < before)
      throw fail('invalid_argument', { field: 'spec.sizeMb', reason: 'a gadget cannot shrink' })
    return { sizeMb }
  },
  consequence: (previous, spec) =>
    previous.spec['sizeMb'] === spec['sizeMb'] ? undefined : { event: 'grow', message: 'growing' },
  present: () => ({ shiny: true }),
  presentSpec: ({ spec }) => ({ ...spec, sizeGb: Number(spec['sizeMb']) / 1024 }),
})

const note: Kind = defineKind({
  kind: 'note',
  plural: 'notes',
  scope: 'gadgets',
  parent: gadget,
  spec: s.object({ text: s.string() }),
})

/** Lives inside a note. */
const comment: Kind = defineKind({
  kind: 'comment',
  plural: 'comments',
  scope: 'gadgets',
  parent: note,
  spec: s.object({ about: s.optional(s.array(s.string())) }),
  references: ({ about = [] }) =>
    (about as string[]).map((name, at) => ({ field: `spec.about.${at}`, kind: 'topic', parent: '', name })),
})

/** Stays while a comment names it. */
const topic: Kind = defineKind({
  kind: 'topic',
  plural: 'topics',
  scope: 'gadgets',
  spec: s.object({}),
  keptWhileReferenced: true,
})

const kinds = [gadget, note, comment, topic]

t.test('a new kind has five endpoints, its defaults and its rules', async t => {
  const { call, poked, store } = await control(t, { kinds })
  const made = await call('POST', '/gadgets', { metadata: { name: 'data' }, spec: { sizeMb: 64 } })
  t.match(made, { status: 200, body: { spec: { sizeMb: 64, sizeGb: 0.0625 }, status: 'BUSY', shiny: true } })
  t.match(poked, [/^gadget\//])
  t.match((await call('POST', '/gadgets', {})).body, { metadata: { name: /^gadget-/ }, spec: { sizeMb: 64 } })
  t.match(await call('POST', '/gadgets', { metadata: { name: 'data' } }), {
    status: 409,
    body: { error: 'already_exists', code: 409 },
  })
  t.match(await call('PUT', '/gadgets/data', { spec: { sizeMb: 32 } }), {
    status: 400,
    body: { error: 'invalid_argument', message: 'spec.sizeMb: a gadget cannot shrink' },
  })
  const grown = await call('PUT', '/gadgets/data', { spec: { sizeMb: 128 } })
  t.match(grown.body, { spec: { sizeMb: 128 }, status: 'BUSY', events: [{}, { message: 'growing' }] })
  t.match((await call('GET', '/gadgets?sort=name:asc')).body, {
    data: [{ metadata: { name: 'data' }, events: [{}, {}] }, {}],
    meta: { total: 2 },
  })
  t.match(await call('DELETE', '/gadgets/data'), { status: 200, body: { status: 'DELETING' } })
  t.equal(await store.resources.count('gadget', 'default'), 2, 'the loop removes it')
  t.equal((await call('GET', '/gadgets/by-external-id/x')).status, 404, 'and it has no external ids')
})

t.test('a status filter of an older version is checked but applied only where the kind says so', async t => {
  const { call } = await control(t, { kinds })
  await call('POST', '/gadgets', {})
  const old = { headers: { 'svc-version': '2026-04-16' } }
  t.equal((await call('GET', '/gadgets?status=READY', undefined, old)).body.length, 1)
  t.equal((await call('GET', '/gadgets?status=SLEEPY', undefined, old)).status, 400)
  t.equal((await call('GET', '/gadgets?status=READY')).body.data.length, 0)
})

t.test('a kind inside another lives and goes with it', async t => {
  const { call, store, poked, transition } = await control(t, { kinds })
  const text = { spec: { text: 'hello' } }
  t.match(await call('POST', '/gadgets/none/notes', text), { status: 404, body: { message: /gadget "none"/ } })
  for (const name of ['a', 'b']) await call('POST', '/gadgets', { metadata: { name } })
  for (const name of ['a', 'b'])
    t.equal((await call('POST', `/gadgets/${name}/notes`, { metadata: { name: 'n' }, ...text })).status, 200)
  t.match((await call('GET', '/gadgets/a/notes')).body, [{ metadata: { name: 'n' }, spec: { text: 'hello' } }])
  t.match((await call('PUT', '/gadgets/a/notes/n', { spec: { text: 'bye' } })).body, { spec: { text: 'bye' } })
  t.match((await call('GET', '/gadgets/b/notes/n')).body, { spec: { text: 'hello' } })
  t.equal((await call('POST', '/gadgets/a/notes', { spec: { text: 1 } })).status, 400)

  poked.length = 0
  await call('DELETE', '/gadgets/a')
  t.equal(await store.resources.count('note', 'default', 'a'), 0, 'gone with its gadget')
  t.equal(await store.resources.count('note', 'default', 'b'), 1)
  t.match(poked, [/^note\//, /^gadget\//])

  const gone = await store.resources.get({ kind: 'gadget', workspace: 'default', parent: '', name: 'b' })
  if (gone) await transition.write([{ remove: gone }])
  t.equal((await call('GET', '/gadgets/b/notes')).status, 404)
  await call('POST', '/gadgets', { metadata: { name: 'b' } })
  t.same((await call('GET', '/gadgets/b/notes')).body, [], 'a new one does not inherit')
  await call('POST', '/gadgets/b/notes', { metadata: { name: 'n' }, ...text })

  const erased = await call('DELETE', '/gadgets/b/notes/n')
  t.match(erased, { status: 200, body: { metadata: { name: 'n' } } })
  t.equal(Object.hasOwn(erased.body, 'status'), false, 'a kind without one has none')
  t.equal((await call('GET', '/gadgets/b/notes/n')).status, 404, 'removed at once')
})

t.test('a kind inside a kind inside a kind', async t => {
  const { call, store, poked } = await control(t, { kinds })
  const path = '/gadgets/a/notes/n/comments'
  await call('POST', '/gadgets', { metadata: { name: 'a' } })
  t.match(await call('POST', path, {}), { status: 404, body: { message: 'note "n" not found' } })
  await call('POST', '/gadgets/a/notes', { metadata: { name: 'n' }, spec: { text: 'x' } })
  t.match(await call('POST', path, { metadata: { name: 'c' } }), { status: 200 })
  t.match((await call('GET', path)).body, [{ metadata: { name: 'c' } }])
  t.equal((await call('GET', `${path}/c`)).status, 200)
  t.equal((await call('PUT', `${path}/c`, { metadata: { displayName: 'C' } })).status, 200)
  for (const none of [
    '/gadgets/b/notes/n/comments/c',
    '/gadgets/a/notes/m/comments/c',
    '/gadgets/a%2Fn/notes/n/comments/c',
  ])
    t.match(await call('GET', none), { status: 404 }, none)
  t.equal((await call('GET', '/gadgets/a%2Fnotes/notes')).status, 404)
  poked.length = 0
  await call('DELETE', '/gadgets/a')
  t.equal(await store.resources.count('comment', 'default'), 0)
  t.match(poked.toSorted(), [/^comment\//, /^gadget\//, /^note\//], 'all that went are looked at')
  t.match(await call('POST', '/gadgets/a/notes', { metadata: { name: 'm' }, spec: { text: 'x' } }), {
    status: 404,
    body: { message: 'gadget "a" not found' },
  })
})

t.test('what a resource names is there, and stays while it is named', async t => {
  const { call } = await control(t, { kinds })
  const path = '/gadgets/a/notes/n/comments'
  await call('POST', '/gadgets', { metadata: { name: 'a' } })
  await call('POST', '/gadgets/a/notes', { metadata: { name: 'n' }, spec: { text: 'x' } })
  await call('POST', '/topics', { metadata: { name: 'one' } })
  const about = (...names: string[]) => ({ metadata: { name: 'c' }, spec: { about: names } })
  t.match(await call('POST', path, about('one', 'two')), {
    status: 400,
    body: { error: 'invalid_argument', message: 'spec.about.1: topic "two" not found' },
  })
  t.equal((await call('GET', `${path}/c`)).status, 404, 'and nothing was made')
  t.equal((await call('POST', path, about('one'))).status, 200)
  t.match(await call('PUT', `${path}/c`, about('two')), { status: 400 })
  t.match(await call('DELETE', '/topics/one'), {
    status: 409,
    headers: { 'x-should-retry': 'false' },
    body: { error: 'in_use', message: 'topic "one" is in use by comment "c"' },
  })
  t.equal((await call('PUT', `${path}/c`, about())).status, 200)
  t.equal((await call('DELETE', '/topics/one')).status, 200)
})

t.test('of those who name a topic and those who delete it, either all or none succeed', async t => {
  const { call, store } = await control(t, { kinds })
  await call('POST', '/gadgets', { metadata: { name: 'a' } })
  await call('POST', '/gadgets/a/notes', { metadata: { name: 'n' }, spec: { text: 'x' } })
  for (let round = 0; round < 5; round++) {
    await call('POST', '/topics', { metadata: { name: 'one' } })
    const names = Array.from({ length: 4 }, (_, index) => `c${round}-${index}`)
    const make = (name: string) =>
      call('POST', '/gadgets/a/notes/n/comments', { metadata: { name }, spec: { about: ['one'] } })
    const [gone, ...made] = await Promise.all([call('DELETE', '/topics/one'), ...names.map(make)])
    const there = (await call('GET', '/topics/one')).status === 200
    t.equal(gone?.status, there ? 409 : 200)
    const counts = await store.resources.usageCounts({ kind: 'topic', workspace: 'default', parent: '', name: 'one' })
    t.same(counts, there ? { comment: made.filter(({ status }) => status === 200).length } : {})
    for (const name of names) await call('DELETE', `/gadgets/a/notes/n/comments/${name}`)
    await call('DELETE', '/topics/one')
  }
})

t.test('the document describes a new kind', async t => {
  const { call } = await control(t, { kinds })
  const { paths } = (await call('GET', '/openapi.json')).body
  t.hasProps(paths, ['/v0/gadgets', '/v0/gadgets/{gadgetId}', '/v0/gadgets/{gadgetId}/notes/{noteName}'])
  t.equal(Object.hasOwn(paths, '/v0/gadgets/by-external-id/{externalId}'), false)
})
