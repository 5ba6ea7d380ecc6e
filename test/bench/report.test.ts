import t from 'tap'
import { jsonLines, meets, percentile, row, table, wordsOf } from './report.ts'
import { targets } from './targets.ts'

t.test('a row has four digits and its ratio to the floor', async t => {
  t.same(row('a.b', 12.34567, 'ms', 3), { name: 'a.b', value: 12.35, unit: 'ms', floor: 3, ratio: 4.115 })
  t.same(row('a.b', 12, 'ms'), { name: 'a.b', value: 12, unit: 'ms', floor: null, ratio: null })
})

t.test('percentiles are samples', async t => {
  const samples = [5, 1, 4, 2, 3]
  t.equal(percentile(samples, 0), 1)
  t.equal(percentile(samples, 0.5), 3)
  t.equal(percentile(samples, 0.99), 5)
  t.equal(percentile(samples, 1), 5)
  t.ok(Number.isNaN(percentile([], 0.5)))
  t.same(samples, [5, 1, 4, 2, 3], 'left as they were')
})

t.test('a target is met when every bound of it is', async t => {
  const at = (value: number, floor: number | null = null) => row('x', value, 'ms', floor)
  t.equal(meets(at(3), { most: 3 }), true)
  t.equal(meets(at(3.1), { most: 3 }), false)
  t.equal(meets(at(3), { least: 3 }), true)
  t.equal(meets(at(2.9), { least: 3 }), false)
  t.equal(meets(at(4, 2), { most: 5, mostRatio: 2 }), true)
  t.equal(meets(at(5, 2), { most: 5, mostRatio: 2 }), false)
  t.equal(meets(at(1, 2), { leastRatio: 0.5 }), true)
  t.equal(meets(at(1, 3), { leastRatio: 0.5 }), false)
  t.equal(meets(at(4), { most: 5, mostRatio: 2 }), undefined, 'not known without the rival')
  t.equal(meets(at(6), { most: 5, mostRatio: 2 }), false, 'known all the same')
})

t.test('a target in words', async t => {
  t.equal(wordsOf({ most: 120, mostRatio: 3 }, 'ms'), '≤ 120 ms, ≤ 3×')
  t.equal(wordsOf({ least: 1000, leastRatio: 0.5 }, 'MB/s'), '≥ 1000 MB/s, ≥ 0.5×')
})

t.test('the table has target and verdict beside the figure, and names what is missing', async t => {
  const name = 'host.exec-true.gateway.p50'
  t.same(targets[name], { most: 3, mostRatio: 2 })
  const lines = table(
    [row(name, 2.5, 'ms', 2), row(name, 2.5, 'ms'), row(name, 4.5, 'ms', 2), row('other', 1, 'MB')],
    [{ name: 'gateway', skipped: 'needs nginx' }],
  )
  t.same(lines, [
    '                            value  unit  floor  ratio  target',
    'host.exec-true.gateway.p50    2.5  ms        2  1.25×  ≤ 3 ms, ≤ 2×  met',
    'host.exec-true.gateway.p50    2.5  ms                  ≤ 3 ms, ≤ 2×  no rival',
    'host.exec-true.gateway.p50    4.5  ms        2  2.25×  ≤ 3 ms, ≤ 2×  MISSED',
    'other                           1  MB',
    'not measured: gateway (needs nginx)',
  ])
})

t.test('for machines: one object a line', async t => {
  const lines = jsonLines([row('a', 1, 'ms', 2)], [{ name: 'b', skipped: 'why' }])
  t.same(
    lines.map(line => JSON.parse(line)),
    [
      { name: 'a', value: 1, unit: 'ms', floor: 2, ratio: 0.5 },
      { name: 'b', skipped: 'why' },
    ],
  )
})
