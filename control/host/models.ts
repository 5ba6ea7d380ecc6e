/** The models of this host: their data plane, what they have used, and whether they can be used. */
import type { Closing } from '../../shared/closing.ts'
import { wireNames as spellings } from '../../shared/wire-names.ts'
import type { Config } from '../base/config.ts'
import type { Handlers } from '../server/proxy/gateway/handled.ts'
import { connectionKind } from '../core/kinds/connection.ts'
import { modelKindName } from '../core/kinds/model.ts'
import { policyKind } from '../core/kinds/policy.ts'
import type { Metrics } from '../ops/metrics/metrics.ts'
import { modelMetrics } from '../ops/metrics/models/calls.ts'
import { openModels, type Models } from '../core/models/open.ts'
import { keyHeaders } from '../core/models/key-headers.ts'
import type { Parts } from './parts.ts'
import type { Transition } from '../core/transitions/transition.ts'
import { secretIn } from '../base/secret-file.ts'

export const modelsOf = async (
  config: Config,
  parts: Parts,
  { registry }: Metrics,
  transition: () => Pick<Transition, 'write'>,
  closer: Closing,
): Promise<Models> => {
  const names = spellings(config.wireNames)
  const { catalogues } = parts
  return openModels(
    {
      ...parts,
      metrics: modelMetrics(registry),
      transition,
      tables: {
        prices: () => catalogues.read('model-prices'),
        budgets: () => catalogues.read('model-budgets'),
      },
      kinds: { connection: connectionKind.kind, policy: policyKind.kind },
      providers: config.providers,
      ca: await secretIn(config.caFile, 'HUTCH_CA_FILE'),
      ours: names.header(''),
      servedHeaders: names.header('served-model'),
    },
    closer,
  )
}

export const modelHandlers = ({ handle }: Models): Handlers => new Map([[modelKindName, { keyHeaders, handle }]])
