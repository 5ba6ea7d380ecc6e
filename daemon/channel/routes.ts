import { handle, type Bound } from '../../shared/route.ts'
import { configure, showIdentity } from '../../shared/wire/host.ts'
import type { HostConfiguration } from './configuration.ts'

export const hostRoutes = (configuration: HostConfiguration): Bound[] => [
  handle(configure, ({ body }) => configuration.replace(body)),
  handle(showIdentity, () => configuration.identity()),
]
