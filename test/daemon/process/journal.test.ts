import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openJournal, parseJournal } from '../../../daemon/process/journal.ts'
import { createSeal, noSeal } from '../../../daemon/own-files/seal.ts'
import type { ProcessRecord } from '../../../daemon/process/record.ts'
import { silentLog } from '../../../shared/log.ts'
import { ownDisk } from '../../support/small-disk.ts'

const record = (id: number, more: Partial<ProcessRecord> = {}): ProcessRecord => ({
  id,
  pid: 100 + id,
  name: `p${id}`,
  command: 'true',
  workingDir: '/',
  env: {},
  restartOnFailure: false,
  maxRestarts: 0,
  stdin: false,
  logKey: `p${id}`,
  status: 'running',
  startedAt: 1,
  completedAt: undefined,
  exitCode: 0,
  restartCount: 0,
  keepAlive: false,
  deadline: undefined,
  current: { pid: 100 + id, startTicks: '5', bootId: 'b' },
  ending: undefined,
  kept: 0,
  ...more,
})

t.test('the last line of each record counts, half a line does not, strange ones are not believed', t => {
  const text = [
    JSON.stringify(record(1)),
    JSON.stringify(record(2)),
    JSON.stringify(record(1, { status: 'completed', current: undefined })),
    JSON.stringify({ ...record(3), pid: 'x' }),
    JSON.stringify({ ...record(3), logKey: '../../etc/shadow' }),
    ...[-5, 0, 1].map(pid => JSON.stringify(record(3, { current: { pid, startTicks: '5', bootId: 'b' } }))),
    '{"forget":2}',
    '{"id":4,"na',
  ].join('\n')
  const { records, damaged } = parseJournal(text, noSeal)
  t.match(records, [{ id: 1, status: 'completed' }])
  t.equal(records.length, 1)
  t.equal(damaged, 6)
  t.end()
})

t.test('what was put is there for the next one, and the file does not grow for ever', t => {
  const dir = t.testdir({})
  const one = record(1)
  const open = () => openJournal({ dir, readOnly: false, log: silentLog, seal: noSeal, live: () => [one] })
  const { journal } = open()
  for (let count = 0; count < 5_000; count++) journal.put({ ...one, restartCount: count })
  journal.put(Object.assign(one, { restartCount: 7 }))
  journal.close()
  t.ok(readFileSync(join(dir, 'processes.jsonl'), 'utf8').split('\n').length < 1_100)
  const again = open()
  t.match(again.records, [{ id: 1, restartCount: 7 }])
  again.journal.forget(one)
  again.journal.close()
  t.same(open().records, [])
  t.end()
})

/** To the last block. */
const fill = (path: string): void => {
  const fd = openSync(path, 'w')
  for (const size of [65_536, 1_024])
    try {
      for (;;) {
        writeSync(fd, Buffer.alloc(size))
        fsyncSync(fd)
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  closeSync(fd)
}

t.test('a disk that is full keeps nobody from opening it, and what is put when there is room again is there', t => {
  if (process.geteuid?.() !== 0) {
    t.pass('nothing can be mounted here')
    t.end()
    return
  }
  const disk = ownDisk(t, 4)
  const all = [record(1), record(2)]
  const open = (dir: string) => openJournal({ dir, readOnly: false, log: silentLog, seal: noSeal, live: () => all })
  for (const isNew of [false, true]) {
    const dir = join(disk, isNew ? 'new' : 'known')
    if (!isNew) {
      const { journal } = open(dir)
      // Nearly a page: a further line is cut in two by its end.
      for (const one of all) journal.put({ ...one, command: 'x'.repeat(1_600) })
      journal.close()
    }
    const filler = join(disk, 'filler')
    fill(filler)
    const { journal, records } = open(dir)
    t.match(records, isNew ? [] : [{ id: 1 }, { id: 2 }])
    for (let count = 0; count < 100; count++) journal.put(record(1, { restartCount: count }))
    rmSync(filler)
    journal.put(record(2, { restartCount: 7 }))
    journal.close()
    const last = open(dir)
    last.journal.close()
    t.match(last.records.at(-1), { id: 2, restartCount: 7 })
  }
  t.end()
})

t.test('who only reads writes nothing', t => {
  const dir = t.testdir({ 'processes.jsonl': `${JSON.stringify(record(1))}\nrest` })
  const { journal, records } = openJournal({ dir, readOnly: true, log: silentLog, seal: noSeal, live: () => [] })
  journal.put(record(2))
  journal.close()
  t.equal(records.length, 1)
  t.equal(readFileSync(join(dir, 'processes.jsonl'), 'utf8'), `${JSON.stringify(record(1))}\nrest`)
  t.end()
})

t.test(
  'with a seal nothing counts that has none of this machine for this file, but what was there before there were seals',
  t => {
    const dir = t.testdir({})
    const path = join(dir, 'processes.jsonl')
    const key = Buffer.alloc(32, 'k').toString('base64url')
    const sealOf = (legacy = false, label = 'journal', by = key) => createSeal({ key: by, legacy }, label)
    const open = (seal = sealOf()) => openJournal({ dir, readOnly: false, log: silentLog, seal, live: () => [] })
    writeFileSync(path, `${JSON.stringify(record(1))}\n`)
    const first = open(sealOf(true))
    t.match(first.records, [{ id: 1 }], 'once')
    first.journal.put(record(2))
    first.journal.put(record(3))
    first.journal.forget(record(3))
    first.journal.close()
    const own = readFileSync(path, 'utf8')
    const [line = ''] = own.split('\n')
    const otherKey = Buffer.alloc(32, 'o').toString('base64url')
    for (const [name, forged] of Object.entries({
      none: JSON.stringify(record(4)),
      'that of another line': line.replace('"p1"', '"p4"').replace('"id":1', '"id":4'),
      "another machine's": sealOf(false, 'journal', otherKey).close(JSON.stringify(record(4))),
      "another file's": sealOf(false, 'other').close(JSON.stringify(record(4))),
      'half of it': `${sealOf()
        .close(JSON.stringify(record(4)))
        .slice(0, -4)}"}`,
      'more behind it': `${sealOf()
        .close(JSON.stringify(record(4)))
        .slice(0, -1)},"id":5}`,
      'two of them': sealOf(false, 'other').close(sealOf().close(JSON.stringify(record(4)))),
      'one that forgets': '{"forget":1}',
      'one that forgets, with that of a record': `{"forget":1${line.slice(line.indexOf(',"seal"'))}`,
    })) {
      writeFileSync(path, own)
      appendFileSync(path, `${forged}\n`)
      const { journal, records } = open()
      journal.close()
      t.same(
        records.map(({ id }) => id),
        [1, 2],
        name,
      )
    }
    t.match(parseJournal(own, noSeal).records, [{ id: 1 }, { id: 2 }], 'a daemon of a version before reads it')
    t.end()
  },
)
