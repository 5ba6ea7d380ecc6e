/** The life of a record of every kind, from its declared example: made, refused twice, read, listed, changed, deleted, gone. */
import t, { type Test } from 'tap'
import type { Kind } from '../../../../control/core/records/kind.ts'
import { control, type TestControl } from '../../../support/control.ts'
import { collectionOf, exampleNamed, makeExample, nameOf, type Made, withoutMachines } from '../../../support/kinds.ts'

const has = (kind: Kind, verb: Kind['verbs'][number]): boolean => kind.verbs.includes(verb)

const itemsOf = (body: { data?: unknown[] } | unknown[]): unknown[] => (Array.isArray(body) ? body : (body.data ?? []))

/** A name that can be given to nobody. */
const wrongName = (kind: Kind) => ({ ...kind.example?.create, metadata: { name: 'Not A Name' } })

const refusals = async (t: Test, { call }: TestControl, kind: Kind, { collection }: Made) => {
  t.match(await call('POST', collection, '[]'), { status: 400, body: { code: 400, message: String } }, 'no object')
  if (kind.wire) return
  t.match(await call('POST', collection, wrongName(kind)), { status: 400, body: { message: /^metadata.name: / } })
  if (!kind.names.generate)
    t.match(
      await call('POST', collection, { ...kind.example?.create, metadata: {} }),
      { status: 400 },
      'a name is needed',
    )
  t.match(await call('POST', collection, { ...kind.example?.create, spec: 7 }), {
    status: 400,
    body: { message: /spec/ },
  })
}

const duplicate = async (t: Test, { call }: TestControl, kind: Kind, { collection, name }: Made) => {
  if (kind.wire || kind.issue) return
  const again = await call('POST', collection, { ...kind.example?.create, metadata: { name } })
  t.match(again, { status: 409, headers: { 'x-should-retry': 'false' }, body: { code: 409 } }, 'a name is given once')
}

const reading = async (t: Test, { call }: TestControl, kind: Kind, { collection, one, name, answer }: Made) => {
  if (has(kind, 'get')) {
    const read = await call('GET', one)
    t.match(read, { status: 200 }, 'it can be read')
    t.equal(nameOf(kind, read.body), name)
    const known = Object.keys(answer.body)
    if (!kind.wire) t.same(Object.keys(read.body).toSorted(), known.toSorted(), 'as it was answered when it was made')
  }
  const listed = itemsOf((await call('GET', collection)).body)
  t.ok(
    listed.some(item => nameOf(kind, item) === name),
    'it is listed',
  )
  t.match(await call('GET', `${collection}-none`), { status: 404 })
}

const changing = async (t: Test, { call, clock }: TestControl, kind: Kind, { one, collection }: Made) => {
  if (!has(kind, 'update')) return
  const update = kind.example?.update
  t.ok(update, 'a kind that can be changed has an example of a change')
  await clock.tick(1000)
  const changed = await call('PUT', one, update)
  t.match(changed, { status: 200 }, 'it can be changed')
  if (has(kind, 'get')) t.same((await call('GET', one)).body, changed.body, 'and stays so')
  t.match(await call('PUT', one, changed.body), { status: 200 }, 'what was answered can be sent back')
  const unknown = await call('PUT', `${collection}/none`, update)
  t.equal(unknown.status, kind.upsert ? 200 : 404, 'one that is not there')
  if (!kind.wire) t.match(await call('PUT', one, { metadata: { name: 'other' } }), { status: 400 }, 'names stay')
}

const deleting = async (t: Test, { call }: TestControl, kind: Kind, { one, collection }: Made) => {
  if (!has(kind, 'delete')) return
  const { status = 200 } = kind.removed ?? {}
  const gone = await call('DELETE', one)
  t.equal(gone.status, status, 'it can be deleted')
  if (kind.removed && !kind.removed.body) t.equal(gone.text, '')
  if (kind.removal === 'immediate') {
    t.equal((await call('DELETE', one)).status, 404, 'once')
    if (has(kind, 'get')) t.equal((await call('GET', one)).status, 404)
  } else t.equal((await call('DELETE', one)).status, status, 'again and again')
  t.equal((await call('DELETE', `${collection}/nobody`)).status, 404)
}

t.test('every kind', async t => {
  const { kinds } = await control(t)
  t.ok(kinds.size >= 6)
  for (const kind of withoutMachines(kinds.values()))
    await t.test(kind.kind, async t => {
      const made = await control(t)
      const { store } = made
      const collection = await collectionOf(made, kind)
      if (!has(kind, 'create')) {
        t.equal((await made.call('POST', collection, {})).status, kind.verbs.length > 0 ? 405 : 404)
        return
      }
      t.ok(kind.example, 'it has an example')
      t.equal((await made.call('GET', collection)).status, 200)
      const one = await makeExample(made, kind, undefined)
      t.equal(one.answer.status, 200, one.answer.text)
      await refusals(t, made, kind, one)
      await duplicate(t, made, kind, one)
      t.equal(await store.resources.count(kind.kind, 'default'), 1, 'what is refused changes nothing')
      await reading(t, made, kind, one)
      await changing(t, made, kind, one)
      await deleting(t, made, kind, one)
    })
})

t.test('extra members and prototype keys of bodies are nothing', async t => {
  const { kinds } = await control(t)
  for (const kind of withoutMachines(kinds.values())) {
    if (!has(kind, 'create')) continue
    const made = await control(t)
    const { collection } = await makeExample(made, kind, undefined)
    const body = exampleNamed(kind, 'second')
    const odd = `{"apiVersion":"v1","kind":"X","__proto__":{"a":1},"constructor":{"b":2},${JSON.stringify(body).slice(1)}`
    const answer = await made.call('POST', collection, odd)
    t.equal(answer.status, 200, `${kind.kind}: ${answer.text}`)
    t.notMatch(answer.text, /"apiVersion"|"constructor"|"b":2/, kind.kind)
  }
})
