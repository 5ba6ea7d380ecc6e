import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openCapture, sliceBytes } from '../../../../daemon/process/output/capture.ts'
import { maxLineBytes } from '../../../../daemon/process/output/lines.ts'
import { outputPaths } from '../../../../daemon/process/output/names.ts'
import { createScratch } from '../../../../daemon/process/output/render.ts'
import { tailText } from '../../../../daemon/process/output/tail.ts'
import { until } from '../../../support/processes.ts'

const setup = (t: Test) => {
  const dir = t.testdir({ positions: {} })
  const paths = outputPaths({ logDir: dir, positionsDir: join(dir, 'positions') }, 'x')
  const scratch = createScratch()
  const open = (fresh = false) => {
    const capture = openCapture({ paths, fresh, ended: false, scratch })
    t.teardown(() => capture.close())
    return capture
  }
  const [out, err] = paths.streams
  return { dir, paths, open, out, err, combined: () => readFileSync(paths.combined, 'utf8') }
}

t.test('when both streams grew between two looks, stdout comes first, always', t => {
  const { open, out, err, combined } = setup(t)
  const capture = open(true)
  for (let round = 0; round < 3; round++) {
    appendFileSync(err, `e${round}\n`)
    appendFileSync(out, `o${round}\n`)
    t.ok(capture.poll())
  }
  t.notOk(capture.poll())
  t.equal(combined(), [0, 1, 2].map(n => `stdout:o${n}\nstderr:e${n}\n`).join(''))
  t.end()
})

t.test('an unfinished line waits for its end', t => {
  const { open, out, err, combined } = setup(t)
  const capture = open(true)
  appendFileSync(out, 'one\ntw')
  capture.poll()
  t.equal(combined(), 'stdout:one\n')
  appendFileSync(err, 'err\n')
  capture.poll()
  appendFileSync(out, 'o\n')
  capture.poll()
  t.equal(combined(), 'stdout:one\nstderr:err\nstdout:two\n')
  appendFileSync(out, 'half')
  appendFileSync(err, 'rest')
  capture.end()
  t.equal(combined(), 'stdout:one\nstderr:err\nstdout:two\nstdout:half\nstderr:rest')
  t.end()
})

t.test('a line without end is broken, so that nothing waits for ever', t => {
  const { open, out, combined } = setup(t)
  const capture = open(true)
  const text = 'y'.repeat(maxLineBytes + 10)
  appendFileSync(out, text)
  while (capture.poll());
  t.ok(combined() === `stdout:${text.slice(0, maxLineBytes)}\n`)
  capture.end()
  t.ok(combined() === `stdout:${text.slice(0, maxLineBytes)}\nstdout:${'y'.repeat(10)}`)
  t.end()
})

t.test('another daemon goes on at the same byte, whatever was half done', t => {
  const { open, out, err, paths, combined } = setup(t)
  const first = open(true)
  appendFileSync(out, 'a\nb\nhal')
  appendFileSync(err, 'e\n')
  first.poll()
  first.close()
  // Killed after it wrote to the combined log and before it noted that.
  appendFileSync(paths.combined, 'stdout:never noted\n')
  appendFileSync(out, 'f\n')
  const second = open()
  second.poll()
  second.end()
  t.equal(combined().slice(0, second.positions.combined), 'stdout:a\nstdout:b\nstderr:e\nstdout:half\n')
  const order = [0, 7, 9].map(at => second.positions.runs.find(at)?.stream)
  t.same(order, [0, 1, 0])
  t.end()
})

t.test('positions that are not ours are not believed', t => {
  const { open, paths, out } = setup(t)
  open(true).close()
  for (const content of ['', 'x'.repeat(500), Buffer.alloc(500)]) {
    writeFileSync(paths.positions, content)
    const capture = open()
    t.same(capture.positions.seen, [0, 0])
    capture.close()
  }
  t.equal(statSync(out).size, 0)
  t.end()
})

t.test('a head beyond the share goes back to the disk and is never served', t => {
  const { open, out } = setup(t)
  const capture = open(true)
  const line = `${'z'.repeat(99)}\n`
  for (let round = 0; round < 20; round++) {
    appendFileSync(out, line.repeat(1000))
    while (capture.poll());
    capture.cap(256 * 1024)
  }
  t.equal(statSync(out).size, 2_000_000)
  t.ok(statSync(out).blocks * 512 <= 320 * 1024)
  t.ok(capture.retained() < 700 * 1024)
  const tail = tailText(capture, 0, 10_000_000)
  t.match(tail.slice(0, 40), /^\[\.\.\. truncated \d+ bytes\]\n/)
  t.notOk(tail.includes('\0'))
  t.equal(tailText(capture, 0, 200), `[... truncated 1999800 bytes]\n${line.repeat(2)}`)
  t.end()
})

t.test('a large head goes back beside the main thread, and counts as gone at once', async t => {
  const { open, out } = setup(t)
  const capture = open(true)
  appendFileSync(out, `${'q'.repeat(99)}\n`.repeat(200_000))
  capture.poll()
  capture.cap(64 * 1024, true)
  const [head] = capture.positions.heads
  t.ok(head > 19_900_000)
  t.equal(capture.positions.runs.end, head, 'what is gone keeps its place in the order')
  await until('the disk', () => statSync(out).blocks * 512 <= 100 * 1024)
  appendFileSync(out, `${'r'.repeat(99)}\n`.repeat(10_000))
  while (capture.poll());
  capture.cap(64 * 1024, true)
  t.equal(capture.positions.heads[0], Math.floor((21_000_000 - 64 * 1024) / 4096) * 4096, 'and again afterwards')
  t.ok(statSync(out).blocks * 512 <= 100 * 1024)
  t.notOk(tailText(capture, 0, 10_000_000).includes('\0'))
})

t.test('what leaves the disk before it was looked at is told', t => {
  const { open, out, combined } = setup(t)
  const capture = open(true)
  appendFileSync(out, 'head\n')
  capture.poll()
  appendFileSync(out, `${'q'.repeat(99)}\n`.repeat(40_000))
  capture.poll()
  t.ok(capture.behind, `more than ${sliceBytes} bytes`)
  capture.cap(64 * 1024)
  while (capture.poll());
  const marker = /stdout:\[\.\.\. truncated (\d+) bytes\]\n/.exec(combined().slice(capture.positions.heads[2]))
  t.ok(Number(marker?.[1]) > 1_000_000)
  t.equal(capture.positions.seen[0], 4_000_005)
  t.equal(capture.positions.runs.end, 4_000_005, 'the bytes keep their place in the order')
  t.end()
})

t.test('a process that truncates its output loses nothing that was taken, and goes on', t => {
  const { open, out, combined } = setup(t)
  const capture = open(true)
  const from = (at: number, reader = capture) => {
    const bytes = Buffer.alloc(100)
    return bytes.toString('utf8', 0, reader.read(0, bytes, at))
  }
  appendFileSync(out, 'one\ntwo\nthr')
  capture.poll()
  writeFileSync(out, 'x\n')
  t.ok(capture.poll())
  appendFileSync(out, 'yy\n')
  t.ok(capture.poll())
  const lines = 'stdout:one\nstdout:two\nstdout:[... truncated 3 bytes]\nstdout:x\nstdout:yy\n'
  t.equal(combined(), lines)
  t.equal(from(11), 'x\nyy\n', 'offsets go on')
  t.equal(tailText(capture, 0, 100), '[... truncated 11 bytes]\nx\nyy\n')
  capture.close()
  const next = open()
  appendFileSync(out, 'next\n')
  t.ok(next.poll())
  t.equal(from(16, next), 'next\n', 'and under the next daemon')
  t.equal(combined(), `${lines}stdout:next\n`)
  appendFileSync(out, `${'z'.repeat(99)}\n`.repeat(5_000))
  while (next.poll());
  next.cap(64 * 1024)
  t.ok(statSync(out).blocks * 512 <= 100 * 1024)
  t.equal(tailText(next, 0, 200), `[... truncated 499821 bytes]\n${`${'z'.repeat(99)}\n`.repeat(2)}`)
  writeFileSync(out, '')
  next.end()
  t.equal(tailText(next, 0, 200), '[... truncated 500021 bytes]\n')
  t.end()
})

t.test('characters are not cut at the front of a tail', t => {
  const { open, out } = setup(t)
  const capture = open(true)
  appendFileSync(out, '€'.repeat(100))
  capture.end()
  t.equal(tailText(capture, 0, 7), `[... truncated 294 bytes]\n${'€'.repeat(2)}`)
  t.equal(tailText(capture, 1, 7), '')
  t.end()
})

t.test('moving and removing take all files along', t => {
  const { dir, open, out } = setup(t)
  const capture = open(true)
  appendFileSync(out, 'moved\n')
  capture.end()
  mkdirSync(join(dir, 'old'))
  const next = outputPaths({ logDir: join(dir, 'old'), positionsDir: join(dir, 'positions') }, 'y')
  capture.move(next)
  t.equal(readFileSync(next.combined, 'utf8'), 'stdout:moved\n')
  t.equal(tailText(capture, 0, 100), 'moved\n')
  capture.remove()
  t.throws(() => statSync(next.combined), { code: 'ENOENT' })
  t.throws(() => statSync(next.positions), { code: 'ENOENT' })
  t.equal(tailText(capture, 0, 100), '', 'nothing is left to read')
  t.end()
})

t.test('files of a new capture take the place of whatever has their names', t => {
  const { paths, open, combined } = setup(t)
  const { streams, positions } = paths
  for (const path of [...streams, paths.combined, positions]) writeFileSync(path, 'left by somebody'.repeat(100))
  const reader = openSync(streams[0], 'r')
  t.teardown(() => closeSync(reader))
  const capture = open(true)
  const [out, err] = capture.childDescriptors
  writeSync(out, 'out\n')
  writeSync(err, 'err\n')
  capture.end()
  t.equal(tailText(capture, 0, 100), 'out\n')
  t.equal(combined(), 'stdout:out\nstderr:err\n')
  t.match(String(readFileSync(reader)), /^left by somebody/, 'who reads the old one reads on')
  capture.close()
  t.match(open().positions, { seen: [4, 4], combined: 22 })
  t.end()
})
