/** Decisions outlive the server, and are never more than so many. */
import { appendFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createEventLog, type EgressEvent } from '../../../../control/network/egress/events/events.ts'
import { nothingKept } from '../../../../control/network/egress/events/kept.ts'
import { createRecord } from '../../../../control/network/egress/events/record.ts'
import { openEventFiles } from '../../../../control/network/outbound/event-files.ts'
import { silentLog } from '../../../../shared/log.ts'

const limits = { events: 10, seen: 10 }
const event = { kind: 'connection', verdict: 'allowed', reason: 'default', host: 'a.example' } as const
const logOf = (files: ReturnType<typeof openEventFiles>, uid: string) =>
  createEventLog({ now: () => 5, capacity: limits.events, kept: files.of(uid).events })

t.test('another server goes on where one was killed', async t => {
  const directory = t.testdir()
  const open = () => openEventFiles(directory, limits, { log: silentLog })
  const first = logOf(open(), 'a')
  for (let at = 1; at <= 37; at++) first.add({ ...event, port: at })
  appendFileSync(join(directory, 'a.events'), '{"seq":38,"por')
  const second = logOf(open(), 'a')
  const page = second.page(0, 100)
  t.same(
    page.events.map(({ seq }) => seq),
    [28, 29, 30, 31, 32, 33, 34, 35, 36, 37],
  )
  t.match(page, { next: 37, lost: 27 })
  second.add({ ...event, port: 99 })
  t.match(logOf(open(), 'a').page(37, 5), { events: [{ seq: 38, port: 99, host: 'a.example', at: 5 }], next: 38 })
  t.ok(
    readdirSync(directory).every(name => statSync(join(directory, name)).size < 10 * 200),
    'bounded',
  )
  t.equal(statSync(join(directory, 'a.events')).mode & 0o777, 0o600)
  const files = open()
  logOf(files, 'b').add(event)
  files.keepOnly(new Set(['b']))
  t.same(readdirSync(directory), ['b.events'])
  files.remove('b')
  t.same(readdirSync(directory), [])
})

t.test('what was learnt is kept, too', async t => {
  const directory = t.testdir()
  const open = () => createRecord(openEventFiles(directory, limits, { log: silentLog }).of('a').seen)
  const first = open()
  first.add({ host: 'a.example', method: 'GET' })
  first.add({ host: 'a.example', method: 'GET' })
  first.add({ host: 'b.example' })
  t.same([...open().seen], [{ host: 'a.example', method: 'GET' }, { host: 'b.example' }])
})

t.test('events wait for what is found out about who asked, and are told once', async t => {
  const tasks: (() => void)[] = []
  const kept: object[] = []
  const log = createEventLog({
    now: () => 0,
    capacity: 10,
    kept: { load: () => [], append: values => void kept.push(...structuredClone(values)) },
    after: (_ms, task) => void tasks.push(task),
  })
  const said = {}
  log.add({ ...event, said })
  t.equal(log.page(0, 10).events.length, 1, 'it can be read at once')
  const told: EgressEvent[] = []
  log.follow(one => void told.push(one))
  log.add({ ...event, said })
  log.add(event)
  Object.assign(said, { process: 'curl' })
  t.same([kept.length, told.length, tasks.length], [1, 0, 2])
  for (const task of tasks) task()
  t.match(kept[1], { seq: 2, said: { process: 'curl' } })
  t.same(
    told.map(({ seq }) => seq),
    [2, 3],
  )
})

t.test('a full disk stops nothing', async t => {
  const directory = t.testdir()
  const errors: string[] = []
  const files = openEventFiles(directory, limits, { log: { ...silentLog, error: name => void errors.push(name) } })
  writeFileSync(join(directory, 'x'), '')
  const log = createEventLog({ now: () => 0, capacity: 10, kept: files.of('x/y').events })
  for (let at = 0; at < 3; at++) log.add(event)
  t.equal(log.page(0, 10).events.length, 3)
  t.same(errors, ['outbound.events.unkept'], 'said once')
})

t.test('what was still under way when its record went is kept nowhere', async t => {
  const directory = t.testdir()
  const files = openEventFiles(directory, limits, { log: silentLog })
  const tasks: (() => void)[] = []
  const { events, seen } = files.of('a')
  const log = createEventLog({ now: () => 0, capacity: 10, kept: events, after: (_ms, task) => void tasks.push(task) })
  const record = createRecord(seen)
  log.add(event)
  record.add({ host: 'a.example' })
  t.same(readdirSync(directory), ['a.seen'])
  files.remove('a')
  for (const task of tasks) task()
  log.add(event)
  log.flush()
  record.add({ host: 'b.example' })
  t.same(readdirSync(directory), [])
  t.equal(log.page(0, 10).events.length, 2, 'whoever reads it now still sees them')
})

t.test('of a long address an event keeps its piece and not the rest', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const log = createEventLog({ now: () => 5, capacity: 400, kept: nothingKept.events })
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < 400; at++) log.add({ ...event, path: Buffer.alloc(50_000, `/${at}`).toString('latin1') })
  collect()
  const kept = process.memoryUsage().heapUsed - before
  t.ok(kept < 2_000_000, `${kept} bytes for 400 events`)
  t.equal(log.page(0, 1).events[0]?.path?.length, 256)
})
