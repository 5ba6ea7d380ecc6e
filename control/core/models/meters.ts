/** What becomes of a call that is over: it is written down, counted for operators, and settled with its limits. */
import type { Clock } from '../../../shared/clock.ts'
import type { Call, ModelRequest } from './handler.ts'
import type { Prices } from './prices.ts'
import type { Recorder } from './recorder.ts'
import type { Route } from './routes.ts'
import type { Usage } from './usage.ts'

/** Whose call it was. */
export interface CallLabels {
  readonly workspace: string
  readonly model: string
  readonly key: string
}

export interface ModelMetrics {
  called(labels: CallLabels, call: { usage: Usage; failure: string; ttftMs: number | null }): void
  refused(labels: CallLabels): void
  /** Asked when somebody reads. */
  watch(gap: () => { readonly waiting: number; readonly lost: number }): void
}

export interface Outcome {
  /** The model that has served, or was asked last. */
  readonly served: Route
  readonly status: number
  readonly usage: Usage
  readonly failure: string
  readonly ttftMs: number | null
}

export interface Meters {
  note(call: Call, outcome: Outcome): Promise<void>
  /** A call was not let in by its limits. */
  refused(call: ModelRequest): void
}

export const createMeters = (deps: {
  readonly recorder: Recorder
  readonly prices: Prices
  readonly metrics: ModelMetrics
  readonly clock: Pick<Clock, 'elapsed'>
}): Meters => ({
  async note(call, { served, status, usage, failure, ttftMs }) {
    const { recorder, prices, metrics, clock } = deps
    const { id, time, workspace, owner, key, held, startedAt } = call
    const { input, output, cached, reasoning, estimated } = usage
    const providerModel = served.runtime.model ?? ''
    const provider = served.provider.type
    const costNanos = await prices.costOf({ provider, model: providerModel, time }, usage)
    held.settle({ input, output, costNanos })
    metrics.called({ workspace: workspace.name, model: owner.name, key: key.name }, { usage, failure, ttftMs })
    recorder.record({
      id,
      time,
      account: workspace.account,
      workspace: workspace.name,
      model: owner.uid,
      modelName: owner.name,
      served: served.record.name,
      key: key.id,
      keyName: key.name,
      provider,
      providerModel,
      status,
      inputTokens: input,
      outputTokens: output,
      cachedTokens: cached,
      reasoningTokens: reasoning,
      estimated,
      failure,
      ttftMs,
      durationMs: Math.round(clock.elapsed() - startedAt),
      costNanos,
    })
  },
  refused({ workspace, owner, key }) {
    deps.metrics.refused({ workspace: workspace.name, model: owner.name, key: key.name })
  },
})
