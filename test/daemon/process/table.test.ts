import t from 'tap'
import type { Managed } from '../../../daemon/process/managed.ts'
import { createTable } from '../../../daemon/process/table.ts'

const managed = (id: number, pid: number, name: string, status = 'running') =>
  ({ record: { id, pid, name, status } }) as unknown as Managed

t.test('the latest start has the name and the pid; numbers are pids only', t => {
  const table = createTable()
  const first = managed(1, 10, 'web', 'completed')
  const second = managed(2, 11, 'web')
  const number = managed(3, 12, '10')
  for (const one of [first, second, number]) table.add(one)
  t.equal(table.find('web'), second)
  t.equal(table.find('10'), first)
  t.equal(table.find('+11'), second)
  t.throws(() => table.find('nobody'), { code: 'not_found' })
  t.throws(() => table.find('99'), { code: 'not_found' })
  t.equal(table.running, 2)
  t.equal(table.nextId(), 4)
  const recycled = managed(5, 11, 'other')
  table.add(recycled)
  t.equal(table.find('11'), recycled, 'a number that came around')
  t.equal(table.find('web'), second)
  table.remove(recycled)
  table.remove(second)
  t.equal(table.byName('web'), undefined)
  t.equal(table.size, 2)
  t.end()
})
