/** Everything that models need of a host, put together. */
import type { Closing } from '../../../shared/closing.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { Transition } from '../transitions/transition.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Store } from '../store/store.ts'
import { connectionReads, type ConnectionReads } from './connection-reads.ts'
import { openDeployer, type Deployer } from './deploy.ts'
import { modelHandler, type ModelRequest } from './handler.ts'
import { createBudgets, type BudgetLine } from './limits/budgets.ts'
import { createLimits } from './limits/limits.ts'
import { createTokenLimits } from './limits/token-limits.ts'
import { createMeters, type ModelMetrics } from './meters.ts'
import { createPrices, type Price } from './prices.ts'
import { createReach } from './reach.ts'
import { openRecorder, type Recorder } from './recorder.ts'
import { createBodies } from './request-body.ts'
import { createRoutes, type Routes } from './routes.ts'
import { createAccessTokens } from './tokens.ts'

export interface ModelsDeps {
  readonly store: Pick<Store, 'resources' | 'moment' | 'modelUsage'>
  readonly sealer: Sealer
  readonly clock: Clock
  readonly ids: Pick<Ids, 'uuid'>
  readonly log: Log
  /** Tables that the operator edits. */
  readonly tables: { prices(): Promise<readonly Price[]>; budgets(): Promise<readonly BudgetLine[]> }
  readonly metrics: ModelMetrics
  /** Origins that connections may lead to wherever they are. */
  readonly providers: readonly string[]
  /** Further authorities in PEM; '' for none. */
  readonly ca: string
  /** Lower-case prefixes of headers that are the platform's. */
  readonly ours: readonly string[]
  /** Names of the header that says which model has served. */
  readonly servedHeaders: readonly string[]
  readonly transition: () => Pick<Transition, 'write'>
  /** What the kinds are called that a model names. */
  readonly kinds: { readonly connection: string; readonly policy: string }
}

export interface Models {
  readonly handle: (request: ModelRequest) => Promise<void>
  readonly routes: Routes
  readonly recorder: Recorder
  readonly reads: ConnectionReads
  readonly deployer: Deployer
}

export const openModels = (deps: ModelsDeps, closer: Closing): Models => {
  const { store, clock, tables, log } = deps
  const reach = createReach(deps.providers, { ca: deps.ca })
  closer.add('providers', reach.close)
  const recorder = openRecorder(deps, closer)
  const flush = () => recorder.flush()
  const prices = createPrices({ table: tables.prices, log })
  deps.metrics.watch(() => recorder.gap)
  const tokens = createAccessTokens({ reach, clock })
  const routes = createRoutes({ ...deps, reach, tokens })
  const limits = createLimits({
    recorder,
    tokens: createTokenLimits({ store, clock, flush }),
    budgets: createBudgets({ store, clock, table: tables.budgets, prices, flush }),
  })
  const handle = modelHandler({
    ...deps,
    routes,
    limits,
    meters: createMeters({ ...deps, recorder, prices }),
    bodies: createBodies(),
  })
  return {
    handle,
    routes,
    recorder,
    reads: connectionReads({ reach, tokens }),
    deployer: openDeployer({ ...deps, routes, reach }, closer),
  }
}
