import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openJournal, parseJournal } from '../../../daemon/process/journal.ts'
import type { ProcessRecord } from '../../../daemon/process/record.ts'
import { silentLog } from '../../../shared/log.ts'

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
  const { records, damaged } = parseJournal(text)
  t.match(records, [{ id: 1, status: 'completed' }])
  t.equal(records.length, 1)
  t.equal(damaged, 6)
  t.end()
})

t.test('what was put is there for the next one, and the file does not grow for ever', t => {
  const dir = t.testdir({})
  const one = record(1)
  const open = () => openJournal({ dir, readOnly: false, log: silentLog, live: () => [one] })
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

t.test('who only reads writes nothing', t => {
  const dir = t.testdir({ 'processes.jsonl': `${JSON.stringify(record(1))}\nrest` })
  const { journal, records } = openJournal({ dir, readOnly: true, log: silentLog, live: () => [] })
  journal.put(record(2))
  journal.close()
  t.equal(records.length, 1)
  t.equal(readFileSync(join(dir, 'processes.jsonl'), 'utf8'), `${JSON.stringify(record(1))}\nrest`)
  t.end()
})
