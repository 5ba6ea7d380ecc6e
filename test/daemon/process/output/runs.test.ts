import t from 'tap'
import { createRuns } from '../../../../daemon/process/output/runs.ts'

t.test('neighbours of one stream are one run', t => {
  const runs = createRuns()
  for (let at = 0; at < 1000; at += 10) runs.add(0, at, 10)
  t.equal(runs.count, 1)
  t.same(runs.find(990), { stream: 0, at: 990, offset: 990, length: 10 })
  t.equal(runs.find(1000), undefined)
  t.end()
})

t.test('an offset in the order of both leads to the offset in the file of one', t => {
  const runs = createRuns()
  runs.add(0, 0, 5)
  runs.add(1, 0, 3)
  runs.add(0, 5, 2)
  t.same(
    [0, 4, 5, 7, 8, 9].map(at => runs.find(at)),
    [
      { stream: 0, at: 0, offset: 0, length: 5 },
      { stream: 0, at: 4, offset: 4, length: 1 },
      { stream: 1, at: 5, offset: 0, length: 3 },
      { stream: 1, at: 7, offset: 2, length: 1 },
      { stream: 0, at: 8, offset: 5, length: 2 },
      { stream: 0, at: 9, offset: 6, length: 1 },
    ],
  )
  t.end()
})

t.test('what is encoded is decoded, and grows on', t => {
  const runs = createRuns()
  runs.add(1, 0, 7)
  runs.add(0, 0, 5)
  const again = createRuns({ from: runs.encode() })
  again.add(0, 5, 1)
  t.equal(again.count, 2)
  t.equal(again.end, 13)
  t.same(again.find(12), { stream: 0, at: 12, offset: 5, length: 1 })
  t.equal(runs.encode(1).length, runs.encode().length / 2)
  t.equal(createRuns().encode().length, 0)
  t.end()
})

t.test('at the limit the older half is forgotten, the offsets stay', t => {
  const runs = createRuns({ limit: 10 })
  for (let at = 0; at < 11; at++) runs.add((at % 2) as 0 | 1, at, 1)
  t.equal(runs.count, 6)
  t.equal(runs.base, 5)
  t.equal(runs.end, 11)
  t.equal(runs.find(4), undefined)
  t.same(runs.find(10), { stream: 0, at: 10, offset: 10, length: 1 })
  t.end()
})
