import { createServer } from 'node:net'
import { once } from 'node:events'
import { basename } from 'node:path'
import t from 'tap'
import { processName, familyAmong, familyOf, parseStat, socketsHeld } from '../../../daemon/network/process-tree.ts'

t.test('a stat line is parsed whatever the process calls itself', async t => {
  t.same(parseStat('42 (a) b) (c) S 7 40 41 0 -1'), { pid: 42, parent: 7, group: 40, session: 41 })
  t.same(parseStat('42 (a\nb) R 7 40 41 0'), { pid: 42, parent: 7, group: 40, session: 41 })
  t.equal(parseStat('nonsense'), undefined)
})

t.test('the family is the process, its descendants, and the mates of its group and session', async t => {
  const all = [
    { pid: 1, parent: 0, group: 1, session: 1 },
    { pid: 10, parent: 1, group: 10, session: 10 },
    { pid: 11, parent: 10, group: 11, session: 10 },
    { pid: 12, parent: 11, group: 12, session: 12 },
    { pid: 20, parent: 1, group: 10, session: 1 },
    { pid: 21, parent: 20, group: 21, session: 21 },
    { pid: 30, parent: 1, group: 30, session: 30 },
  ]
  t.same(familyAmong(10, all).toSorted(), [10, 11, 12, 20, 21])
  t.equal(familyAmong(10, all)[0], 10)
  t.same(familyAmong(1, all), [1], 'init does not stand for everybody')
  t.same(familyAmong(99, all), [])
  t.same(familyAmong(0, [{ pid: 1, parent: 0, group: 0, session: 0 }]), [])
})

t.test('this process is found with its name and sockets, a missing one is empty', async t => {
  t.ok((await familyOf(process.pid)).includes(process.pid))
  const before = (await socketsHeld(process.pid)).length
  const server = createServer().listen(0)
  await once(server, 'listening')
  t.equal((await socketsHeld(process.pid)).length, before + 1)
  server.close()
  t.equal(await processName(process.pid), basename(process.execPath))
  t.equal(await processName(2 ** 30), '')
  const proc = t.testdir({ 7: { comm: 'kworker\n' }, 8: { exe: t.fixture('symlink', '/usr/bin/gone (deleted)') } })
  t.equal(await processName(7, proc), 'kworker')
  t.equal(await processName(8, proc), 'gone')
  t.same(await socketsHeld(2 ** 30), [])
  t.same(await familyOf(2 ** 30), [])
})
