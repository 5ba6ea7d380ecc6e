/** For who watches over this host. */
import { handle, json, reply, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import type { Health } from '../../ops/health/health.ts'

export const getHealth = route('GET /v0/healthz', {
  id: 'health.get',
  family: 'health',
  summary: 'Tells whether this host can do its work',
  returns: s.object({
    status: s.enum(['ok', 'failing']),
    database: s.string(),
    drivers: s.string(),
    disk: s.string(),
    draining: s.boolean(),
  }),
  statuses: { 503: 'Something of it is not ok' },
  errors: ['internal'],
  open: true,
})

export const getMetrics = route('GET /v0/metrics', {
  id: 'health.metrics',
  family: 'health',
  summary: 'What is measured of this host, for Prometheus',
  produces: ['text/plain'],
  returns: s.string(),
  errors: ['unauthenticated', 'forbidden', 'internal'],
  extra: { tenant: 'none', access: { scope: 'metrics:get', role: 'account' } satisfies Access },
})

export interface HealthRoutesDeps {
  readonly health: () => Promise<Health>
  readonly metrics: { readonly contentType: string; text(): Promise<string> }
}

export const healthRoutes = ({ health, metrics }: HealthRoutesDeps): Bound[] => [
  handle(getHealth, async () => {
    const seen = await health()
    return json(seen, { status: seen.status === 'ok' ? 200 : 503, headers: { 'cache-control': 'no-store' } })
  }),
  handle(getMetrics, async () => reply(200, { 'content-type': metrics.contentType }, await metrics.text())),
]

/** Where those who watch over hosts look, and what that stands for. */
export const watchersAddresses: Readonly<Record<string, string>> = {
  '/healthz': getHealth.path,
  '/metrics': getMetrics.path,
}
