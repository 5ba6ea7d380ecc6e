/** Calls of models in Prometheus' text form. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { CallLabels, ModelMetrics } from '../../../core/models/meters.ts'

/** Seconds. */
const firstByteBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Combinations of labels; further ones are counted together. */
const mostSeries = 2_000

const labelNames = ['workspace', 'model', 'key']

const instruments = (registers: Registry[]) => ({
  requests: new Counter({
    name: 'hutch_model_requests_total',
    help: 'Calls of models, by how they ended: ok, or the failure',
    labelNames: [...labelNames, 'result'],
    registers,
  }),
  tokens: new Counter({
    name: 'hutch_model_tokens_total',
    help: 'Tokens of models, in (input) and out (output)',
    labelNames: [...labelNames, 'direction'],
    registers,
  }),
  estimated: new Counter({
    name: 'hutch_model_estimated_tokens_total',
    help: 'Tokens of calls whose provider did not tell all counts',
    labelNames,
    registers,
  }),
  firstByte: new Histogram({
    name: 'hutch_model_first_byte_seconds',
    help: "From a call's start to the first byte of its answer's body",
    labelNames: ['workspace', 'model'],
    buckets: firstByteBuckets,
    registers,
  }),
})

export const modelMetrics = (registry: Registry): ModelMetrics => {
  const { requests, tokens, estimated, firstByte } = instruments([registry])
  let gap = () => ({ waiting: 0, lost: 0 })
  const unrecorded = new Gauge({
    name: 'hutch_model_usage_unrecorded',
    help: 'Calls whose usage is not written down: waiting since the store failed, and lost',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(gap())) this.set({ state }, count)
    },
  })
  const known = new Set<string>()
  const bounded = (labels: CallLabels): CallLabels => {
    const id = `${labels.workspace}\0${labels.model}\0${labels.key}`
    if (!known.has(id) && known.size >= mostSeries) return { workspace: '', model: 'others', key: '' }
    known.add(id)
    return labels
  }
  return {
    called(given, { usage, failure, ttftMs }) {
      const labels = bounded(given)
      requests.inc({ ...labels, result: failure || 'ok' })
      tokens.inc({ ...labels, direction: 'input' }, usage.input)
      tokens.inc({ ...labels, direction: 'output' }, usage.output)
      if (usage.estimated) estimated.inc({ ...labels }, usage.input + usage.output)
      const { workspace, model } = labels
      if (ttftMs !== null) firstByte.observe({ workspace, model }, ttftMs / 1000)
    },
    refused: given => requests.inc({ ...bounded(given), result: 'limited' }),
    watch(read) {
      gap = read
      unrecorded.reset()
    },
  }
}
