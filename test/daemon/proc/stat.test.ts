import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseStat, readStat } from '../../../daemon/proc/stat.ts'

const rest = '0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 8192 1'

t.test('a stat line is parsed whatever the process calls itself', t => {
  const parsed = { pid: 42, state: 'S', parent: 7, group: 40, session: 41, startTicks: '4711' }
  t.same(parseStat(`42 (a) b) (c) S 7 40 41 ${rest}`), parsed)
  t.same(parseStat(`42 (a\nb) R 7 40 41 ${rest}`), { ...parsed, state: 'R' })
  t.equal(parseStat('nonsense'), undefined)
  t.equal(parseStat('42 (cut) S 7 40'), undefined)
  t.end()
})

t.test('this process is read as the kernel shows it; one that is gone is not there', t => {
  const own = readStat(process.pid)
  t.match(own, { pid: process.pid, parent: process.ppid, state: 'R' })
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ')
  t.equal(own?.startTicks, fields?.[19])
  t.equal(readStat(spawnSync('true').pid), undefined)
  t.end()
})
