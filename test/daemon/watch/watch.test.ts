import '../../support/native.ts'
import { execFile } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { daemonServer } from '../../support/daemon.ts'

interface Line {
  op: string
  name: string
  path: string
  error: string | null
}

/** A daemon and a client that watches `path` (as it stands in the address after the prefix). */
const harness = async (t: Test, argv: readonly string[] = []) => {
  const { url, dir } = await daemonServer(t, { argv })
  const watch = async (path: string, query = '') => {
    const gone = new AbortController()
    t.teardown(() => gone.abort())
    const response = await fetch(`${url}/watch/filesystem${path}${query}`, { signal: gone.signal })
    const seen: Line[] = []
    let wake = () => {}
    const read = async () => {
      let rest = ''
      const decoder = new TextDecoder()
      for await (const piece of response.body ?? []) {
        const lines = (rest + decoder.decode(piece as Uint8Array, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) seen.push(JSON.parse(line) as Line)
        wake()
      }
    }
    const done = read().catch(error => {
      if (!gone.signal.aborted) throw error
    })
    /** Waits until a line is there. */
    const line = async (op: string, name: string): Promise<Line> => {
      for (;;) {
        const found = seen.find(candidate => candidate.op.split('|').includes(op) && candidate.name === name)
        if (found) return found
        await new Promise<void>(resolve => (wake = resolve))
      }
    }
    return { response, seen, line, close: () => (gone.abort(), done) }
  }
  const encoded = (path: string) => path.split('/').join('%2F')
  return { url, dir, watch, encoded }
}

t.test('the answer begins at once and tells what happens in a directory', async t => {
  const { dir, watch, encoded } = await harness(t)
  await fs.writeFile(join(dir, 'old'), '')
  const { response, line, seen } = await watch(encoded(dir))
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.equal(response.headers.get('x-accel-buffering'), 'no')

  await fs.writeFile(join(dir, 'a.txt'), 'hello')
  t.strictSame(await line('CREATE', 'a.txt'), { op: 'CREATE', name: 'a.txt', path: dir, error: null })
  await line('WRITE', 'a.txt')
  await fs.chmod(join(dir, 'a.txt'), 0o600)
  await line('CHMOD', 'a.txt')
  await fs.rename(join(dir, 'a.txt'), join(dir, 'b.txt'))
  await line('RENAME', 'a.txt')
  await line('CREATE', 'b.txt')
  await fs.unlink(join(dir, 'b.txt'))
  await line('REMOVE', 'b.txt')

  await fs.mkdir(join(dir, 'sub'))
  await fs.writeFile(join(dir, 'sub/unseen'), '')
  await fs.writeFile(join(dir, 'last'), '')
  await line('CREATE', 'last')
  t.notOk(
    seen.some(({ name }) => name === 'unseen' || name === 'old'),
    'not recursive, and nothing of before',
  )
})

t.test('a path that ends in /** is watched with all below it', async t => {
  const { dir, watch } = await harness(t)
  await fs.mkdir(join(dir, 'deep/deeper'), { recursive: true })
  const { line } = await watch('/**')
  await fs.writeFile(join(dir, 'deep/deeper/x'), '')
  t.match(await line('CREATE', 'x'), { path: join(dir, 'deep/deeper') })
  await fs.mkdir(join(dir, 'new/one/two'), { recursive: true })
  await fs.writeFile(join(dir, 'new/one/two/y'), '')
  t.match(await line('CREATE', 'y'), { path: join(dir, 'new/one/two') })
  await fs.rm(join(dir, 'new'), { recursive: true })
  for (const name of ['y', 'two', 'one', 'new']) await line('REMOVE', name)
})

t.test('a directory that moves in, within and out is followed', async t => {
  const { dir, watch } = await harness(t)
  await fs.mkdir(join(dir, 'watched'))
  await fs.mkdir(join(dir, 'outside/tree'), { recursive: true })
  await fs.writeFile(join(dir, 'outside/tree/leaf'), '')
  const { line, seen } = await watch('/watched/**')

  await fs.rename(join(dir, 'outside/tree'), join(dir, 'watched/tree'))
  t.match(await line('CREATE', 'leaf'), { path: join(dir, 'watched/tree') })
  await fs.rename(join(dir, 'watched/tree'), join(dir, 'watched/other'))
  await line('CREATE', 'other')
  await fs.writeFile(join(dir, 'watched/other/second'), '')
  t.match(await line('CREATE', 'second'), { path: join(dir, 'watched/other') })

  await fs.rename(join(dir, 'watched/other'), join(dir, 'outside/other'))
  await line('RENAME', 'other')
  await fs.writeFile(join(dir, 'outside/other/third'), '')
  await fs.writeFile(join(dir, 'watched/last'), '')
  await line('CREATE', 'last')
  t.notOk(
    seen.some(({ name }) => name === 'third'),
    'what left is not watched any more',
  )
})

t.test('ignore drops paths that contain one of the texts', async t => {
  const { dir, watch } = await harness(t)
  const { line, seen } = await watch('/**', '?ignore=ignored.txt,ignored-folder,')
  await fs.writeFile(join(dir, 'ignored.txt'), '')
  await fs.mkdir(join(dir, 'ignored-folder/sub'), { recursive: true })
  await fs.writeFile(join(dir, 'ignored-folder/sub/file'), '')
  await fs.writeFile(join(dir, 'kept.txt'), '')
  await line('CREATE', 'kept.txt')
  t.notOk(seen.some(({ name, path }) => name.includes('ignored') || path.includes('ignored-folder')))
})

t.test('a tree that grows quickly is told whole, and each creation once', async t => {
  const { dir, watch } = await harness(t)
  const { line, seen } = await watch('/**')
  const script =
    'for d in $(seq 1 60); do mkdir -p m$d/a/b; for f in 1 2 3 4; do : > m$d/f$f; : > m$d/a/b/g$f; done; done'
  await promisify(execFile)('/bin/bash', ['-c', script], { cwd: dir })
  await fs.writeFile(join(dir, 'last'), '')
  await line('CREATE', 'last')
  const paths = (await promisify(execFile)('/usr/bin/find', [dir, '-mindepth', '1'])).stdout.trim().split('\n')
  const created = () => new Set(seen.filter(({ op }) => op === 'CREATE').map(({ path, name }) => `${path}/${name}`))
  // The directory scans behind the last events may still be under way.
  for (const path of paths) if (!created().has(path)) await line('CREATE', path.slice(path.lastIndexOf('/') + 1))
  while (created().size < paths.length) await new Promise(resolve => setTimeout(resolve, 10))
  t.strictSame([...created()].sort(), paths.sort())
  const told = seen.filter(({ op }) => op === 'CREATE').map(({ path, name }) => `${path}/${name}`)
  t.equal(told.length, new Set(told).size, 'nothing twice')
})

t.test('the stream outlives the directory it watches', async t => {
  const { dir, watch } = await harness(t)
  await fs.mkdir(join(dir, 'short/lived'), { recursive: true })
  const { line, seen } = await watch('/short/**')
  await fs.rm(join(dir, 'short'), { recursive: true })
  t.match(await line('REMOVE', 'short'), { path: dir })
  t.equal(seen.filter(({ name }) => name === 'lived').length, 1)
})

t.test('two watches of the same directory do not disturb each other', async t => {
  const { dir, watch } = await harness(t)
  const first = await watch('/**')
  const second = await watch('/**')
  await first.close()
  await fs.writeFile(join(dir, 'a'), '')
  await second.line('CREATE', 'a')
})

t.test('what cannot be watched is refused', async t => {
  const { url, dir } = await harness(t)
  await fs.writeFile(join(dir, 'file'), '')
  const status = async (path: string) => (await fetch(`${url}/watch/filesystem/${path}`)).status
  t.equal(await status('missing'), 400)
  t.equal(await status('missing/**'), 400)
  t.equal(await status('file'), 400)
  t.equal(await status('file/below'), 422)
})

t.test('names that are odd', async t => {
  const { dir, watch } = await harness(t)
  const { line } = await watch('/')
  for (const name of ['a b"\n\\c', 'üñí', '[keepalive]', 'x'.repeat(255)]) {
    await fs.writeFile(join(dir, name), '')
    await line('CREATE', name)
  }
})

t.test('events the kernel dropped are told and made up for', async t => {
  const { dir, watch } = await harness(t)
  const { line } = await watch('/**')
  const limit = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  // In one go: the daemon is in this process and cannot read meanwhile. Two files, because equal events are merged.
  const descriptors = ['a', 'b'].map(name => openSync(join(dir, name), 'w'))
  for (let count = 0; count <= limit / 2; count++) for (const fd of descriptors) writeSync(fd, 'x', 0)
  for (const fd of descriptors) closeSync(fd)
  mkdirSync(join(dir, 'lost/below'), { recursive: true })
  writeFileSync(join(dir, 'lost/below/file'), '')
  t.match(await line('', 'work'), { error: /the kernel dropped events/ })
  t.match(await line('CREATE', 'file'), { path: join(dir, 'lost/below') })
  await fs.writeFile(join(dir, 'lost/below/after'), '')
  await line('CREATE', 'after')
})

t.test('a workload user watches what it may read', { skip: process.getuid?.() !== 0 && 'needs root' }, async t => {
  const { dir, watch, url } = await harness(t, ['--user', '4711'])
  await fs.mkdir(join(dir, 'private'), { mode: 0o700 })
  await fs.mkdir(join(dir, 'public'))
  for (let path = dir; path !== '/'; path = dirname(path)) await fs.chmod(path, (await fs.stat(path)).mode | 0o055)
  t.equal((await fetch(`${url}/watch/filesystem/private`)).status, 422)
  const { line, seen } = await watch('/**')
  t.match(await line('', 'private'), { error: /not watched/ })
  await fs.writeFile(join(dir, 'private/secret'), '')
  await fs.writeFile(join(dir, 'public/open'), '')
  await line('CREATE', 'open')
  t.notOk(seen.some(({ name }) => name === 'secret'))
})

t.test(
  'a write through the API is CREATE and WRITE of a new file, WRITE of one that is there, and no more',
  async t => {
    const { url, dir, watch, encoded } = await harness(t)
    const { line, seen } = await watch(`${encoded(dir)}/**`)
    const put = (name: string, init: RequestInit) => fetch(`${url}/filesystem/${name}`, { method: 'PUT', ...init })
    const raw = { body: 'x', headers: { 'content-type': 'application/octet-stream' } }
    for (const init of [{ body: '{"content":"x"}' }, raw]) t.equal((await put('f', init)).status, 200)
    // A name as the kernel gives to files without one is reported when it is a file's.
    await fs.writeFile(join(dir, '#123'), 'x')
    await put('last', raw)
    await line('WRITE', 'last')
    t.same(
      seen.map(({ op, name }) => `${op} ${name}`),
      ['CREATE f', 'WRITE f', 'WRITE f', 'CREATE #123', 'WRITE #123', 'CREATE last', 'WRITE last'],
    )
  },
)
