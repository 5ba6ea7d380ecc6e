import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const memory = fileURLToPath(new URL('../../../daemon/native/memory/memory.ts', import.meta.url))

/** Runs code in a process of its own and answers what it prints as JSON. */
const alone = (code: string): unknown =>
  JSON.parse(
    execFileSync(
      process.execPath,
      ['--input-type=module', '-e', `import { releaseMemory } from '${memory}'\n${code}`],
      {
        encoding: 'utf8',
      },
    ),
  )

t.test('pages of programs go, and what runs goes on', async t => {
  const { before, after, sorted, called } = alone(`
    import { readFileSync } from 'node:fs'
    const mapped = () => Number(/^RssFile:\\s+(\\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))[1])
    const before = mapped()
    releaseMemory()
    const after = mapped()
    const sorted = Array.from({ length: 10000 }, (_, i) => (i * 7919) % 10000).sort((a, b) => a - b)[9999]
    const called = new Intl.NumberFormat('de').format(1234.5)
    console.log(JSON.stringify({ before, after, sorted, called }))
  `) as { before: number; after: number; sorted: number; called: string }
  t.ok(after < before / 2, `${before} KiB, then ${after}`)
  t.equal(sorted, 9999)
  t.equal(called, '1.234,5')
})

t.test('it can be loaded before anything else, so that the C library has one arena', async t => {
  const arenas = (preload: string) =>
    Number(
      execFileSync(
        process.execPath,
        [
          '-e',
          // Threads allocate; an arena of theirs is a block of 64 MiB that can be written at first and is reserved behind.
          `const { promises, readFileSync } = require('node:fs')
           Promise.all(Array.from({ length: 64 }, () => promises.readdir('/usr/lib'))).then(() => {
             const maps = readFileSync('/proc/self/maps', 'latin1').matchAll(/^(\\w+)-(\\w+) (....)/gm)
             const parts = Array.from(maps, ([, from, to, may]) => ({ from: BigInt('0x' + from), to: BigInt('0x' + to), may }))
             const isArena = ({ from, to, may }, index) =>
               may === 'rw-p' && parts[index + 1]?.may === '---p' && parts[index + 1].from === to && parts[index + 1].to - from === 64n << 20n
             console.log(parts.filter(isArena).length)
           })`,
        ],
        { encoding: 'utf8', env: { ...process.env, LD_PRELOAD: preload } },
      ),
    )
  t.ok(arenas('') > 0, 'more without it')
  t.equal(arenas(fileURLToPath(new URL('../../../daemon/native/build/memory.node', import.meta.url))), 0)
})
