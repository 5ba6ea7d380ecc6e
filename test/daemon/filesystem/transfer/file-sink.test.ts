import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { discard, consume } from '../../../../daemon/filesystem/transfer/consume.ts'
import { createFileSink } from '../../../../daemon/filesystem/transfer/file-sink.ts'

t.test('chunks of any size land in order', async t => {
  const path = join(t.testdir({}), 'f')
  const fd = openSync(path, 'w')
  const sink = createFileSink(fd, 3)
  const chunks = Array.from({ length: 3_000 }, (_, index) => randomBytes(1 + ((index * 7919) % 4_000)))
  for (const chunk of chunks) await sink.write(chunk)
  await sink.finish()
  closeSync(fd)
  const whole = Buffer.concat(chunks)
  t.equal(sink.bytes, whole.length)
  t.ok(readFileSync(path).equals(Buffer.concat([Buffer.alloc(3), whole])))
})

t.test('back-pressure after a few blocks, and the failure of a write is told', async t => {
  const fd = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(fd))
  const sink = createFileSink(fd)
  let waited = false
  await t.rejects(
    (async () => {
      for (let index = 0; index < 10; index++) {
        const full = sink.write(Buffer.alloc(1024 * 1024))
        if (full) waited = true
        await full
      }
      await sink.finish()
    })(),
    { code: 'ENOSPC' },
  )
  t.ok(waited)
  await sink.settle()
})

t.test('pour waits for a chunk that is still being taken when its source ends', async t => {
  let taken = false
  const source = new PassThrough()
  source.end('x')
  await consume(source, () => new Promise(resolve => setImmediate(resolve)).then(() => void (taken = true)))
  t.ok(taken)
})

t.test('pour leaves its source open after a failure, and the rest can be discarded', async t => {
  const source = Readable.from(Array.from({ length: 10 }, () => Buffer.alloc(10)))
  await t.rejects(
    consume(source, () => {
      throw new Error('no more')
    }),
    { message: 'no more' },
  )
  t.notOk(source.destroyed)
  await discard(source, 1_000)
  t.ok(source.readableEnded)
})

t.test('pour fails when its source is cut', async t => {
  const source = new PassThrough()
  const poured = consume(source, () => undefined)
  source.write('x')
  source.destroy()
  await t.rejects(poured, /closed before it ended/)
  await t.rejects(
    consume(source, () => undefined),
    /closed before it ended/,
  )
})
