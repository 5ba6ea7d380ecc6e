import { handle, type Bound } from '../../shared/route.ts'
import { claim, configure, showIdentity, terminate } from '../../shared/wire/host.ts'
import type { Claim } from './claim.ts'
import type { HostConfiguration } from './configuration.ts'

interface Parts {
  readonly configuration: HostConfiguration
  readonly become: Claim
  /** Asks everything in the machine to end, and counts what is left. */
  readonly endAll: () => { left: number }
}

export const hostRoutes = ({ configuration, become, endAll }: Parts): Bound[] => [
  handle(configure, ({ body }) => configuration.replace(body)),
  handle(showIdentity, () => configuration.identity()),
  handle(claim, async ({ body }) => {
    await become(body)
    return { claimed: true as const }
  }),
  handle(terminate, endAll),
]
