/** What the kernel lacks is told from a box that is busy. */
import t from 'tap'
import { failureOf } from '../../../../../control/drivers/oci/net/trial.ts'
import { fail } from '../../../../../shared/errors.ts'

/** Fails with these reasons, one after another, and then not. */
const trial = (reasons: string[]) => {
  const state = { attempts: 0, waitedMs: 0 }
  const clock = { sleep: async (ms: number) => void (state.waitedMs += ms) }
  const attempt = async () => {
    const reason = reasons[state.attempts++]
    if (reason !== undefined) throw fail('driver_failed', { driver: 'oci', step: 'trial', reason })
  }
  return { state, run: () => failureOf(attempt, clock) }
}

t.test('a tool that was late is asked again', async t => {
  const { state, run } = trial([
    'still running after 30000 ms',
    'unshare: fork failed: Resource temporarily unavailable',
  ])
  t.equal(await run(), undefined)
  t.same(state, { attempts: 3, waitedMs: 1_250 })
})

t.test('what goes on failing is given up', async t => {
  const { state, run } = trial(Array(9).fill('Another app is currently holding the xtables lock'))
  t.match(await run(), { code: 'driver_failed' })
  t.equal(state.attempts, 4)
})

t.test('what the kernel lacks is not waited for', async t => {
  for (const reason of [
    'Warning: Extension devgroup revision 0 not supported, missing kernel module?',
    'iptables: No chain/target/match by that name.',
    "iptables v1.8.9: Couldn't load match `devgroup':No such file or directory",
  ]) {
    const { state, run } = trial([reason])
    t.match(await run(), { code: 'driver_failed' }, reason)
    t.same(state, { attempts: 1, waitedMs: 0 })
  }
})

t.test('other errors are nobody’s answer', async t => {
  await t.rejects(
    failureOf(() => Promise.reject(new Error('a bug')), { sleep: async () => {} }),
    { message: 'a bug' },
  )
})
