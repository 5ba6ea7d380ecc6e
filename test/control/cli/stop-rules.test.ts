import t from 'tap'
import { stopRules, type StopSignal } from '../../../control/cli/stop-rules.ts'

/** What is decided on each `[ms, signal]`. */
const decided = (...signals: [number, StopSignal][]): string[] => {
  let now = 0
  const decide = stopRules(() => now)
  return signals.map(([at, signal]) => {
    now = at
    return decide(signal)
  })
}

t.test('one stop that arrives more than once is one stop', async t => {
  t.same(decided([0, 'SIGINT'], [1, 'SIGINT'], [1_999, 'SIGINT']), ['stop', 'ignore', 'ignore'])
  t.same(decided([5_000, 'SIGTERM'], [5_001, 'SIGTERM'], [7_000, 'SIGINT']), ['stop', 'ignore', 'ignore'])
})

t.test('a later Ctrl-C forces; supervisors and closing terminals never do', async t => {
  t.same(decided([0, 'SIGINT'], [2_001, 'SIGINT']), ['stop', 'force'])
  t.same(decided([0, 'SIGTERM'], [10_000, 'SIGTERM'], [20_000, 'SIGHUP'], [20_001, 'SIGINT']), [
    'stop',
    'ignore',
    'ignore',
    'force',
  ])
})
