import t from 'tap'
import type { Candidate } from '../../../daemon/upgrade/candidate.ts'
import { compare, rehearse } from '../../../daemon/upgrade/rehearse.ts'
import { systemClock } from '../../../shared/clock.ts'
import { answerJson, standIn } from '../../support/stand-in.ts'

const one = (pid: string, status: string) => ({ pid, status })

t.test('the new release must know every process', async t => {
  const ours = [one('1', 'running'), one('2', 'completed')]
  t.doesNotThrow(() => compare(ours, ours, ours))
  t.throws(() => compare([one('1', 'running')], ours, ours), /knows 1 of 2 processes/)
  t.throws(() => compare([...ours, one('3', 'running')], ours, ours), /knows 3 of 2/)
})

t.test('a running process may be finished in its eyes only if it is', async t => {
  const before = [one('1', 'running'), one('2', 'running')]
  const seen = [one('1', 'running'), one('2', 'failed')]
  t.throws(() => compare(seen, before, before), /running processes for dead: 2/)
  t.doesNotThrow(() => compare(seen, before, [one('1', 'running'), one('2', 'completed')]))
  t.doesNotThrow(() => compare(before, before, [...before, one('3', 'running')]), 'one may start meanwhile')
})

t.test('a candidate is started, asked and stopped', async t => {
  let healthy = false
  const { url, asked } = await standIn(t, ({ path }, response) => {
    if (path === '/process') return answerJson(response, [one('1', 'running')])
    if (healthy) return answerJson(response, { status: 'ok' })
    healthy = true
    return answerJson(response, {}, 503)
  })
  let stopped = 0
  const port = Number(new URL(url).port)
  const start = async (what: unknown): Promise<Candidate> => {
    t.equal(what, 7)
    return { port, ended: new Promise(() => {}), stop: async () => void stopped++ }
  }
  const deps = { clock: systemClock(), keyed: () => false, start }
  const signal = new AbortController().signal
  await rehearse(7, { ...deps, list: () => [one('1', 'running')] }, signal)
  t.equal(stopped, 1)
  t.same(
    asked.map(({ path }) => path),
    ['/health', '/health', '/process'],
  )
  await t.rejects(rehearse(7, { ...deps, list: () => [] }, signal), /knows 1 of 0/)
  t.equal(stopped, 2, 'stopped after a failure too')
})

t.test('a candidate that ends by itself fails at once', async t => {
  const start = async (): Promise<Candidate> => ({
    port: 1,
    ended: Promise.resolve('exit code 1'),
    stop: async () => {},
  })
  const deps = { clock: systemClock(), keyed: () => false, start, list: () => [] }
  await t.rejects(rehearse(7, deps, new AbortController().signal), /ended at once: exit code 1/)
})

t.test('a candidate that never becomes healthy is given up', async t => {
  let now = 0
  const clock = { ...systemClock(), elapsed: () => now, sleep: async () => void (now += 10_000) }
  const start = async (): Promise<Candidate> => ({ port: 1, ended: new Promise(() => {}), stop: async () => {} })
  await t.rejects(
    rehearse(7, { clock, start, keyed: () => false, list: () => [] }, new AbortController().signal),
    /not healthy/,
  )
})
