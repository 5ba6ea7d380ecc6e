import t from 'tap'
import { fileShare } from '../../../../daemon/process/output/limits.ts'

const MiB = 1024 * 1024

t.test('a file gets its share of the budget, between the floor and the ceiling', t => {
  const limits = { maxFileBytes: 32 * MiB, maxTotalBytes: 90 * MiB }
  t.equal(fileShare(limits, 1), 30 * MiB)
  t.equal(fileShare(limits, 10), 3 * MiB)
  t.equal(fileShare(limits, 1000), 256 * 1024)
  t.equal(fileShare(limits, 0), 30 * MiB)
  t.equal(fileShare({ ...limits, maxFileBytes: MiB }, 1), MiB)
  t.equal(fileShare({ ...limits, maxFileBytes: 1024 }, 1000), 1024, 'never above the ceiling')
  t.end()
})

t.test('zero turns off', t => {
  t.equal(fileShare({ maxFileBytes: 0, maxTotalBytes: 5 }, 3), Number.POSITIVE_INFINITY)
  t.equal(fileShare({ maxFileBytes: 7, maxTotalBytes: 0 }, 3), 7)
  t.end()
})
