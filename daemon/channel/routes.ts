import { handle, type Bound } from '../../shared/route.ts'
import { configure, terminate } from '../../shared/wire/host.ts'
import type { HostConfiguration } from './configuration.ts'

/** What the host alone may ask for. `begin` asks everything in the machine to end, and counts what is left. */
export const hostRoutes = (configuration: HostConfiguration, termination: { begin(): { left: number } }): Bound[] => [
  handle(configure, ({ body }) => configuration.replace(body)),
  handle(terminate, termination.begin),
]
