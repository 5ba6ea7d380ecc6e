import '../../support/native.ts'
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFilePort } from '../../../daemon/filesystem/native-port.ts'
import { createHub } from '../../../daemon/watch/hub.ts'
import { openTree } from '../../../daemon/watch/tree.ts'

const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

/** A watched tree whose directories are read only when the test lets them be. */
const held = async (t: Test, dir: string) => {
  const port = createFilePort(undefined)
  const hub = createHub()
  const lines: string[] = []
  const paths: string[] = []
  let wake = () => {}
  let gate = Promise.resolve()
  const tree = openTree(
    { root: dir, recursive: true, ignore: [] },
    {
      hub,
      user: undefined,
      files: { readdir: path => gate.then(() => port.readdir(path)) },
      tell(line) {
        const { op, name, path } = JSON.parse(line) as { op: string; name: string; path: string }
        lines.push(`${op} ${name}`)
        paths.push(`${op} ${path.slice(dir.length)}/${name}`)
        wake()
      },
    },
  )
  t.teardown(() => tree.close())
  await tree.ready
  return {
    lines,
    /** The same with the path below the root. */
    paths,
    /** Holds reading up until it is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    async told(wanted: string) {
      while (!lines.includes(wanted)) await new Promise<void>(resolve => (wake = resolve))
    },
  }
}

t.test('a file that is written before its new directory was read is told as created, first and once', async t => {
  const dir = t.testdir({ watched: {}, ready: { x: 'x', y: 'y', z: 'z' } })
  const { lines, hold, told } = await held(t, join(dir, 'watched'))
  const release = hold()
  renameSync(join(dir, 'ready'), join(dir, 'watched/in'))
  await told('CREATE in')
  appendFileSync(join(dir, 'watched/in/x'), 'more')
  rmSync(join(dir, 'watched/in/y'))
  writeFileSync(join(dir, 'watched/in/new'), 'n')
  await told('WRITE x')
  await told('REMOVE y')
  await told('WRITE new')
  release()
  await told('CREATE z')
  t.same(lines.filter(line => line.startsWith('CREATE')).sort(), ['CREATE in', 'CREATE new', 'CREATE x', 'CREATE z'])
  t.ok(lines.indexOf('CREATE x') < lines.indexOf('WRITE x'))
})

t.test('what was there from the start is not told as created when it changes', async t => {
  const dir = t.testdir({ watched: { d: { old: 'o' } } })
  const { lines, told } = await held(t, join(dir, 'watched'))
  appendFileSync(join(dir, 'watched/d/old'), 'more')
  await told('WRITE old')
  mkdirSync(join(dir, 'watched/last'))
  await told('CREATE last')
  t.notOk(lines.includes('CREATE old'))
})

t.test('what happens below a directory that has just moved has its new path', async t => {
  const dir = t.testdir({ watched: { a: { sub: { deep: {} } } } })
  const { paths, hold, told } = await held(t, join(dir, 'watched'))
  const release = hold()
  renameSync(join(dir, 'watched/a'), join(dir, 'watched/b'))
  renameSync(join(dir, 'watched/b'), join(dir, 'watched/c'))
  writeFileSync(join(dir, 'watched/c/sub/deep/f'), 'x')
  await told('CREATE f')
  t.ok(paths.includes('CREATE /c/sub/deep/f'), paths.join())
  release()
  await told('CREATE deep')
  writeFileSync(join(dir, 'watched/c/sub/deep/later'), 'x')
  await told('CREATE later')
  t.ok(paths.includes('CREATE /c/sub/deep/later'), paths.join())
})
