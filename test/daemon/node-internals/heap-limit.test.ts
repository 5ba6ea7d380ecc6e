import '../../support/native.ts'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const source = fileURLToPath(new URL('../../../daemon/node-internals/heap-limit.ts', import.meta.url))
const MiB = 1024 * 1024

/** Runs code in a process of its own, whose heap may be limited, and answers what it prints as JSON. */
const alone = (code: string): unknown =>
  JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', `import { limitHeap } from '${source}'\n${code}`], {
      encoding: 'utf8',
    }),
  )

t.test(
  'heap-limit: this Node has the functions of V8; a soft limit holds, and gives way to what is needed',
  async t => {
    const { set, limit, kept, after } = alone(`
    import { getHeapStatistics } from 'node:v8'
    const set = limitHeap(${96 * MiB})
    const limit = getHeapStatistics().heap_size_limit
    const keep = []
    while (keep.length < 300) keep.push(new Array(65536).fill(0.5))
    console.log(JSON.stringify({ set, limit, kept: keep.length, after: getHeapStatistics().heap_size_limit }))
  `) as { set: boolean; limit: number; kept: number; after: number }
    t.equal(set, true)
    t.ok(limit >= 96 * MiB && limit < 400 * MiB, `${limit}, of it 192 MiB for the young`)
    t.equal(kept, 300, 'what needs more gets more')
    t.ok(after > limit)
  },
)

t.test('heap-limit: 0 sets none', async t => {
  t.equal(alone(`console.log(limitHeap(0))`), false)
})
