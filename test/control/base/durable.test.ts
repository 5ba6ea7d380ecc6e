import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readIfThere, readOrCreate, writeDurably } from '../../../control/base/durable.ts'
import { randomIds } from '../../../shared/ids.ts'

const ids = randomIds()

t.test('a file is replaced whole, readable by its owner only', async t => {
  const path = join(t.testdir({ file: 'old' }), 'file')
  await writeDurably(path, 'new', ids)
  t.equal(readFileSync(path, 'utf8'), 'new')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.same(readdirSync(join(path, '..')), ['file'])
})

t.test('a write that cannot be finished leaves nothing behind', async t => {
  const dir = t.testdir({ file: { inside: '' } })
  await t.rejects(writeDurably(join(dir, 'file'), 'new', ids))
  t.same(readdirSync(dir), ['file'])
})

t.test('of many who create at once one does, and all read the same', async t => {
  const dir = t.testdir()
  const path = join(dir, 'key')
  let count = 0
  const read = await Promise.all(Array.from({ length: 20 }, () => readOrCreate(path, () => `key ${count++}`, ids)))
  t.same([...new Set(read)], [readFileSync(path, 'utf8')])
  t.same(readdirSync(dir), ['key'])
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('what is there is read; what is not is undefined; what cannot be read is an error', async t => {
  const dir = t.testdir()
  const path = join(dir, 'file')
  t.equal(await readIfThere(path), undefined)
  writeFileSync(path, 'here')
  t.equal(await readIfThere(path), 'here')
  t.equal(await readOrCreate(path, () => 'new', ids), 'here')
  await t.rejects(readIfThere(dir), { code: 'EISDIR' })
})
