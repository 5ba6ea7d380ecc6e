/** Token policies of a model: how many tokens it may use in a window of time that ends now. */
import type { Resource, Store } from '../../store/store.ts'

export interface TokenPolicy {
  readonly name: string
  readonly windowMs: number
  /** 0 is not looked at. */
  readonly input: number
  readonly output: number
  readonly total: number
  readonly ratio: number
}

const granularities: Readonly<Record<string, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  month: 30 * 86_400_000,
}

/** As stored, checked by the kind. */
interface StoredPolicy {
  readonly type: string
  readonly resourceTypes?: readonly string[] | null
  readonly maxTokens?: {
    readonly granularity?: string | null
    readonly step?: number | null
    readonly input?: number | null
    readonly output?: number | null
    readonly total?: number | null
    readonly ratioInputOverOutput?: number | null
  } | null
}

const tokenPolicy = ({ name, spec }: Resource): TokenPolicy | undefined => {
  const { type, maxTokens, resourceTypes } = spec as unknown as StoredPolicy
  const applies = !resourceTypes || resourceTypes.length === 0 || resourceTypes.includes('model')
  if (type !== 'maxToken' || !maxTokens || !applies) return undefined
  const { granularity, step, input, output, total, ratioInputOverOutput } = maxTokens
  return {
    name,
    windowMs: (granularities[granularity ?? 'minute'] as number) * (step ?? 1),
    input: input ?? 0,
    output: output ?? 0,
    total: total ?? 0,
    ratio: ratioInputOverOutput ?? 0,
  }
}

/** Those that a model names. */
export const policiesOf = async (
  {
    store: { resources },
    kinds,
  }: { readonly store: Pick<Store, 'resources'>; readonly kinds: { readonly policy: string } },
  { spec, workspace }: Resource,
): Promise<TokenPolicy[]> => {
  const names = (spec['policies'] ?? []) as readonly string[]
  const found = await Promise.all(names.map(name => resources.get({ kind: kinds.policy, workspace, parent: '', name })))
  return found.flatMap(record => (record && tokenPolicy(record)) ?? [])
}
