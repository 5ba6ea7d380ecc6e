import '../../support/native.ts'
import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'
import t from 'tap'
import { createCollector } from '../../../daemon/node-internals/collector.ts'
import { until } from '../../support/until.ts'

const MiB = 1024 * 1024
const buffers = () => process.memoryUsage().arrayBuffers

/** Buffers that nobody holds when this returns. */
const makeGarbage = () => {
  for (let count = 0; count < 8; count++) Buffer.alloc(8 * MiB, 1)
}

t.test('collector: gc can be had at run time, and collects what nobody holds', async t => {
  const { young, old, all, release, held } = createCollector()
  t.equal((globalThis as { gc?: unknown }).gc, undefined, 'this context is left as it was')
  const before = buffers()
  makeGarbage()
  t.ok(buffers() >= before + 16 * MiB, 'V8 by itself leaves them')
  young()
  old()
  all()
  // V8 frees the memory of buffers on another thread.
  await until(async () => buffers() < before + MiB, 'the buffers to be freed')
  release()
  t.ok(held() > MiB)
})

t.test('a V8 that gives no gc: nothing is collected, and nothing fails', async t => {
  const { setFlagsFromString } = v8
  t.teardown(() => {
    v8.setFlagsFromString = setFlagsFromString
    syncBuiltinESMExports()
  })
  v8.setFlagsFromString = () => {}
  syncBuiltinESMExports()
  const { young, old, all, release, held } = createCollector()
  for (const run of [young, old, all, release]) t.doesNotThrow(run)
  t.ok(held() > MiB)
})
