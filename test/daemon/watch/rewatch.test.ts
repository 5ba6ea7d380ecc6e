import '../../support/native.ts'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFilePort } from '../../../daemon/filesystem/native-port.ts'
import { createHub } from '../../../daemon/watch/hub.ts'
import { openTree } from '../../../daemon/watch/tree.ts'

const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const watched = async (t: Test, root: string, recursive = true) => {
  const lines: { op: string; path: string }[] = []
  let wake = () => {}
  const tree = openTree(
    { root, recursive, ignore: [] },
    {
      hub: createHub(),
      user: undefined,
      files: createFilePort(undefined),
      tell(line) {
        const { op, name, path } = JSON.parse(line) as { op: string; name: string; path: string }
        lines.push({ op, path: `${path}/${name}` })
        wake()
      },
    },
  )
  t.teardown(() => tree.close())
  await tree.ready
  return {
    lines,
    close: tree.close,
    async told(op: string, path: string) {
      while (!lines.some(line => line.op.includes(op) && line.path === path))
        await new Promise<void>(resolve => (wake = resolve))
    },
  }
}

t.test('a directory that is deleted and made again is watched again', async t => {
  const dir = t.testdir({ root: { old: 'o' } })
  const root = join(dir, 'root')
  for (const recursive of [true, false]) {
    const { told, close } = await watched(t, root, recursive)
    for (let round = 0; round < 3; round++) {
      rmSync(root, { recursive: true })
      await told('REMOVE', root)
      mkdirSync(root)
      writeFileSync(join(root, `f${round}`), '')
      await told('CREATE', join(root, `f${round}`))
      writeFileSync(join(root, `g${round}`), '')
      await told('CREATE', join(root, `g${round}`))
    }
    t.pass(recursive ? 'with all below' : 'alone')
    close()
  }
})

t.test('also when all above it went, and comes back step by step or at once', async t => {
  const dir = t.testdir({ a: { b: { root: {} } }, ready: { root: { inside: 'x' } } })
  const root = join(dir, 'a/b/root')
  const { told } = await watched(t, root)
  rmSync(join(dir, 'a'), { recursive: true })
  await told('REMOVE', root)
  mkdirSync(join(dir, 'a'))
  mkdirSync(join(dir, 'a/other'))
  mkdirSync(join(dir, 'a/b'))
  mkdirSync(root)
  writeFileSync(join(root, 'first'), '')
  await told('CREATE', join(root, 'first'))
  rmSync(join(dir, 'a'), { recursive: true })
  mkdirSync(join(dir, 'a'))
  renameSync(join(dir, 'ready'), join(dir, 'a/b'))
  await told('CREATE', join(root, 'inside'))
  t.pass('told')
})

t.test('what moved away is not told any more, what takes its place is', async t => {
  const dir = t.testdir({ root: { d: {} }, next: { n: 'n' } })
  const root = join(dir, 'root')
  const { told, lines } = await watched(t, root)
  renameSync(root, join(dir, 'away'))
  await told('RENAME', root)
  writeFileSync(join(dir, 'away/unseen'), '')
  writeFileSync(join(dir, 'away/d/unseen'), '')
  renameSync(join(dir, 'next'), root)
  await told('CREATE', join(root, 'n'))
  writeFileSync(join(root, 'last'), '')
  await told('CREATE', join(root, 'last'))
  t.notOk(lines.some(({ path }) => path.includes('unseen')))
})

t.test('a watch that ends while it waits leaves nothing', async t => {
  const dir = t.testdir({ root: {} })
  const root = join(dir, 'root')
  const { told, lines, close } = await watched(t, root)
  rmSync(root, { recursive: true })
  await told('REMOVE', root)
  close()
  const before = lines.length
  const other = await watched(t, dir)
  mkdirSync(root)
  await other.told('CREATE', root)
  t.equal(lines.length, before)
})
