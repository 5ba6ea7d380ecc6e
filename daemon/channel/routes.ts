import { handle, type Bound } from '../../shared/route.ts'
import { claim, configure, showIdentity } from '../../shared/wire/host.ts'
import type { Claim } from './claim.ts'
import type { HostConfiguration } from './configuration.ts'

export const hostRoutes = (configuration: HostConfiguration, become: Claim): Bound[] => [
  handle(configure, ({ body }) => configuration.replace(body)),
  handle(showIdentity, () => configuration.identity()),
  handle(claim, async ({ body }) => {
    await become(body)
    return { claimed: true as const }
  }),
]
