import t from 'tap'
import { checkName, logKey, outputPaths } from '../../../../daemon/process/output/names.ts'

t.test('a usual name is its own key', t => {
  for (const name of ['web', 'proc-a1b2c3d4', 'my_app.v2', '123']) t.equal(logKey(name), name)
  t.end()
})

t.test('different names never share a file, and no key leaves the directory', t => {
  const names = [
    'a',
    'a.stdout',
    'a.stderr',
    'A.STDOUT',
    'a~1',
    'a%7E1',
    '..',
    '.',
    'a b',
    'a%20b',
    'ü',
    '\ud800',
    'x'.repeat(300),
  ]
  const files = names.flatMap(name => {
    const { streams, combined, positions } = outputPaths({ logDir: '/l', positionsDir: '/p' }, logKey(name))
    return [...streams, combined, positions]
  })
  t.equal(new Set(files).size, files.length)
  for (const file of files) t.match(file, /^\/[lp]\/[^/.][^/]{0,200}$/)
  t.end()
})

t.test('names that would be part of a path are refused', t => {
  for (const name of ['a/b', '/', '.', '..']) t.throws(() => checkName(name), { code: 'invalid_argument' })
  t.doesNotThrow(() => checkName('...'))
  t.end()
})
