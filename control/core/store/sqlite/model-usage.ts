/** Calls of models as rows. */
import { sql } from 'kysely'
import type { ModelCall, ModelUsage, ModelUsageQuery, ModelUsageRow, TokenSums } from '../store.ts'
import { one, query, type Prepare } from './prepared.ts'
import type { ModelCallRow } from './tables.ts'
import type { Transact } from './transact.ts'

const toRow = (call: ModelCall): ModelCallRow => ({
  id: call.id,
  time: call.time,
  account: call.account,
  workspace: call.workspace,
  model_uid: call.model,
  model_name: call.modelName,
  served: call.served,
  key: call.key,
  key_name: call.keyName,
  provider: call.provider,
  provider_model: call.providerModel,
  status: call.status,
  input_tokens: call.inputTokens,
  output_tokens: call.outputTokens,
  cached_tokens: call.cachedTokens,
  reasoning_tokens: call.reasoningTokens,
  estimated: call.estimated ? 1 : 0,
  failure: call.failure,
  ttft_ms: call.ttftMs,
  duration_ms: call.durationMs,
  cost_nanos: call.costNanos,
})

interface Window {
  readonly workspace: string
  readonly model: string
  readonly from: number
  readonly to: number
}

const inWindow = ({ workspace, from, to }: Window) =>
  query.selectFrom('model_calls').where('workspace', '=', workspace).where('time', '>=', from).where('time', '<', to)

const ofModel = ({ workspace, model, from, to }: Window) =>
  query
    .selectFrom('model_calls')
    .where('model_uid', '=', model)
    .where('workspace', '=', workspace)
    .where('time', '>=', from)
    .where('time', '<', to)

const sum = (what: string) => sql<number>`COALESCE(SUM(${sql.raw(what)}), 0)`

const sums = [
  sql<number>`COUNT(*)`.as('requests'),
  sum('input_tokens').as('inputTokens'),
  sum('output_tokens').as('outputTokens'),
  sum('CASE estimated WHEN 1 THEN input_tokens + output_tokens ELSE 0 END').as('estimatedTokens'),
  sum('cached_tokens').as('cachedTokens'),
  sum('reasoning_tokens').as('reasoningTokens'),
  sum(`CASE WHEN failure <> '' AND failure <> 'gone' THEN 1 ELSE 0 END`).as('errors'),
  sum('cost_nanos').as('costNanos'),
  sum('CASE WHEN cost_nanos IS NULL THEN 1 ELSE 0 END').as('unpriced'),
] as const

/** By what rows are told apart: columns of the id and of the name. */
const groupings = {
  none: [sql<string>`''`, sql<string>`''`],
  key: [sql.ref<string>('key'), sql<string>`MAX(key_name)`],
  served: [sql.ref<string>('served'), sql.ref<string>('served')],
} as const

type Grouping = keyof typeof groupings

const summing = (prepare: Prepare, base: typeof inWindow, by: Grouping) => {
  const [id, name] = groupings[by]
  return prepare((given: Window) => {
    const selected = base(given).select([id.as('id'), name.as('name'), ...sums])
    return by === 'none' ? selected : selected.groupBy(id)
  })
}

const summers = (prepare: Prepare, base: typeof inWindow) => ({
  none: summing(prepare, base, 'none'),
  key: summing(prepare, base, 'key'),
  served: summing(prepare, base, 'served'),
})

const timed = (prepare: Prepare, base: typeof inWindow) => ({
  count: prepare((given: Window) =>
    base(given)
      .where('ttft_ms', 'is not', null)
      .select(({ fn }) => fn.countAll<number>().as('count')),
  ),
  nth: prepare((given: Window & { offset: number }) =>
    base(given).where('ttft_ms', 'is not', null).orderBy('ttft_ms').select('ttft_ms').limit(one).offset(given.offset),
  ),
})

const statements = (prepare: Prepare) => ({
  sums: { workspace: summers(prepare, inWindow), one: summers(prepare, ofModel) },
  times: { workspace: timed(prepare, inWindow), one: timed(prepare, ofModel) },
  add: prepare((given: ModelCallRow) =>
    query
      .insertInto('model_calls')
      .values({
        id: given.id,
        time: given.time,
        account: given.account,
        workspace: given.workspace,
        model_uid: given.model_uid,
        model_name: given.model_name,
        served: given.served,
        key: given.key,
        key_name: given.key_name,
        provider: given.provider,
        provider_model: given.provider_model,
        status: given.status,
        input_tokens: given.input_tokens,
        output_tokens: given.output_tokens,
        cached_tokens: given.cached_tokens,
        reasoning_tokens: given.reasoning_tokens,
        estimated: given.estimated,
        failure: given.failure,
        ttft_ms: given.ttft_ms,
        duration_ms: given.duration_ms,
        cost_nanos: given.cost_nanos,
      })
      .onConflict(conflict => conflict.column('id').doNothing()),
  ),
  tokens: prepare((given: { model: string; from: number; width: number }) => {
    const slice = sql<number>`(time / CAST(${given.width} AS INTEGER)) * CAST(${given.width} AS INTEGER)`
    return query
      .selectFrom('model_calls')
      .where('model_uid', '=', given.model)
      .where('time', '>=', given.from)
      .groupBy(sql`1`)
      .select([slice.as('at'), sum('input_tokens').as('input'), sum('output_tokens').as('output')])
  }),
  spent: prepare((given: { key: string; from: number }) =>
    query
      .selectFrom('model_calls')
      .where('key', '=', given.key)
      .where('time', '>=', given.from)
      .select(sum('cost_nanos').as('nanos')),
  ),
  prune: prepare((given: { before: number; most: number }) =>
    query
      .deleteFrom('model_calls')
      .where('id', 'in', eb =>
        eb.selectFrom('model_calls').select('id').where('time', '<', given.before).limit(given.most),
      ),
  ),
})

type Statements = ReturnType<typeof statements>

const usage = (run: Statements, { workspace, model, to, buckets, groupBy }: ModelUsageQuery): ModelUsageRow[] => {
  const summer = (model === undefined ? run.sums.workspace : run.sums.one)[groupBy ?? 'none']
  return buckets.flatMap((from, bucket) => {
    const window = { workspace, model: model ?? '', from, to: buckets[bucket + 1] ?? to }
    return summer.all(window).flatMap(row => (row.requests > 0 ? [{ ...row, bucket }] : []))
  })
}

export const sqliteModelUsage = (prepare: Prepare, { look, read, write }: Transact): ModelUsage => {
  const run = statements(prepare)
  return {
    add: calls =>
      write(() => {
        for (const call of calls) run.add.run(toRow(call))
      }),
    usage: asked => read(() => usage(run, asked)),
    firstBytes: ({ workspace, model, from, to }, shares) =>
      read(() => {
        const times = model === undefined ? run.times.workspace : run.times.one
        const window = { workspace, model: model ?? '', from, to }
        const count = times.count.get(window)?.count ?? 0
        if (count === 0) return []
        return shares.map(share => {
          const offset = Math.min(count - 1, Math.floor(share * count))
          return times.nth.get({ ...window, offset })?.ttft_ms ?? 0
        })
      }),
    tokens: (model, from, width) => look(() => run.tokens.all({ model, from, width }) as TokenSums[]),
    spent: (key, from) => look(() => run.spent.get({ key, from })?.nanos ?? 0),
    prune: (before, most) => write(() => run.prune.run({ before, most })),
  }
}
