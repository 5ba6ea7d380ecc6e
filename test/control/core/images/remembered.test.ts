/** Files that are read once for as long as they are there. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { remembering } from '../../../../control/core/images/remembered.ts'

const opened = (dir: string) => {
  const remember = remembering()
  const read: string[] = []
  return {
    read,
    get: (name: string) => {
      const file = join(dir, name)
      return remember(file, async () => {
        read.push(name)
        return readFile(file, 'utf8')
      })
    },
  }
}

t.test('one that is replaced or gone is not what it was', async t => {
  const dir = t.testdir({ name: 'one' })
  const { get, read } = opened(dir)
  t.equal(await get('name'), 'one')
  t.equal(await get('name'), 'one')
  t.same(read, ['name'], 'read once')
  writeFileSync(join(dir, 'other'), 'two')
  renameSync(join(dir, 'other'), join(dir, 'name'))
  t.equal(await get('name'), 'two')
  rmSync(join(dir, 'name'))
  t.equal(await get('name'), undefined)
  writeFileSync(join(dir, 'name'), 'six')
  t.equal(await get('name'), 'six')
  t.equal(await get('x'.repeat(300)), undefined, 'no file has such a name')
})

t.test('those asked for least lately are forgotten', async t => {
  const dir = t.testdir({ kept: '' })
  const { get, read } = opened(dir)
  await get('kept')
  for (let at = 0; at < 1_100; at++) {
    writeFileSync(join(dir, `${at}`), '')
    await get(`${at}`)
    await get('kept')
  }
  await get('0')
  t.equal(read.filter(name => name === 'kept').length, 1, 'what is asked for stays')
  t.equal(read.filter(name => name === '0').length, 2, 'what is not is read again')
})
