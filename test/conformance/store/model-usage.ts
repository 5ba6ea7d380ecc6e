/** Calls of models: each written down once, and summed up by what it belongs to. */
import type { Test } from 'tap'
import type { ModelCall } from '../../../control/core/store/store.ts'
import type { Open } from '../store.ts'

const hour = 3_600_000

const call = (id: string, more: Partial<ModelCall> = {}): ModelCall => ({
  id,
  time: 10 * hour,
  account: 'acme',
  workspace: 'one',
  model: 'uid-1',
  modelName: 'gpt',
  served: 'gpt',
  key: 'k1',
  keyName: 'laptop',
  provider: 'openai',
  providerModel: 'gpt-5',
  status: 200,
  inputTokens: 10,
  outputTokens: 20,
  cachedTokens: 4,
  reasoningTokens: 2,
  estimated: false,
  failure: '',
  ttftMs: 100,
  durationMs: 300,
  costNanos: 500,
  ...more,
})

export const modelUsageSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('calls of models', async t => {
    const { modelUsage } = await open(t)
    const all = { workspace: 'one', model: 'uid-1', from: 0, to: 100 * hour, buckets: [0] }
    t.same(await modelUsage.usage(all), [])
    t.same(await modelUsage.firstBytes(all, [0.5]), [])
    t.equal(await modelUsage.spent('k1', 0), 0)
    await modelUsage.add([
      call('a'),
      call('b', { time: 11 * hour, key: 'k2', keyName: 'ci', estimated: true, ttftMs: 300, costNanos: null }),
      call('c', {
        time: 11 * hour + 1,
        served: 'spare',
        failure: 'cut',
        ttftMs: null,
        inputTokens: 1,
        outputTokens: 0,
      }),
      call('d', { model: 'uid-2' }),
      call('e', { workspace: 'two' }),
      call('f', { failure: 'gone', inputTokens: 0, outputTokens: 0, ttftMs: 200 }),
    ])
    // However often it is told.
    await modelUsage.add([call('a', { outputTokens: 999 }), call('g', { time: 12 * hour })])

    await t.test('are summed once each', async t => {
      const [row, ...more] = await modelUsage.usage(all)
      t.same(more, [])
      t.match(row, {
        requests: 5,
        inputTokens: 31,
        outputTokens: 60,
        estimatedTokens: 30,
        cachedTokens: 20,
        errors: 1,
        costNanos: 2000,
        unpriced: 1,
        bucket: 0,
      })
    })

    await t.test('by time, key and the model that served', async t => {
      const buckets = [10 * hour, 11 * hour, 12 * hour]
      const rows = await modelUsage.usage({ ...all, from: 10 * hour, to: 12 * hour, buckets: buckets.slice(0, 2) })
      t.same(
        rows.map(({ bucket, requests }) => [bucket, requests]),
        [
          [0, 2],
          [1, 2],
        ],
        'the end is not included',
      )
      const byKey = await modelUsage.usage({ ...all, groupBy: 'key' })
      t.same(byKey.map(({ id, name, requests }) => [id, name, requests]).toSorted(), [
        ['k1', 'laptop', 4],
        ['k2', 'ci', 1],
      ])
      const served = await modelUsage.usage({ ...all, groupBy: 'served' })
      t.same(served.map(({ id, requests }) => [id, requests]).toSorted(), [
        ['gpt', 4],
        ['spare', 1],
      ])
      const { model: _, ...workspace } = all
      t.equal((await modelUsage.usage(workspace))[0]?.requests, 6)
      t.same(await modelUsage.usage({ ...all, workspace: 'two' }).then(found => found[0]?.requests), 1)
    })

    await t.test('times, tokens in slices, dollars', async t => {
      t.same(await modelUsage.firstBytes(all, [0.5, 0.99]), [200, 300])
      const slices = await modelUsage.tokens('uid-1', 11 * hour, hour)
      t.same(
        slices.toSorted((a, b) => a.at - b.at),
        [
          { at: 11 * hour, input: 11, output: 20 },
          { at: 12 * hour, input: 10, output: 20 },
        ],
      )
      t.equal(await modelUsage.spent('k1', 11 * hour), 1000)
    })

    await t.test('are forgotten when they are old, some at a time', async t => {
      t.equal(await modelUsage.prune(11 * hour, 2), 2)
      t.equal(await modelUsage.prune(11 * hour, 100), 2)
      t.equal(await modelUsage.prune(11 * hour, 100), 0)
      t.equal((await modelUsage.usage(all))[0]?.requests, 3)
    })
  })
}
