import { createServer } from 'node:net'
import { once } from 'node:events'
import { basename } from 'node:path'
import t from 'tap'
import { processName, processTreeAmong, processTreeOf, socketsHeld } from '../../../daemon/network/process-tree.ts'

t.test('the tree is the process, its descendants, and the mates of its group and session', async t => {
  const all = [
    { pid: 1, parent: 0, group: 1, session: 1 },
    { pid: 10, parent: 1, group: 10, session: 10 },
    { pid: 11, parent: 10, group: 11, session: 10 },
    { pid: 12, parent: 11, group: 12, session: 12 },
    { pid: 20, parent: 1, group: 10, session: 1 },
    { pid: 21, parent: 20, group: 21, session: 21 },
    { pid: 30, parent: 1, group: 30, session: 30 },
  ]
  t.same(processTreeAmong(10, all).toSorted(), [10, 11, 12, 20, 21])
  t.equal(processTreeAmong(10, all)[0], 10)
  t.same(processTreeAmong(1, all), [1], 'init does not stand for everybody')
  t.same(processTreeAmong(99, all), [])
  t.same(processTreeAmong(0, [{ pid: 1, parent: 0, group: 0, session: 0 }]), [])
})

t.test('this process is found with its name and sockets, a missing one is empty', async t => {
  t.ok((await processTreeOf(process.pid)).includes(process.pid))
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
  t.same(await processTreeOf(2 ** 30), [])
})
