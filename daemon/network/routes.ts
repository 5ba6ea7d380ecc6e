import { handle, type Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/network.ts'
import type { Monitors } from './monitors.ts'
import type { Port } from './ports.ts'

export const networkRoutes = (deps: { list: (pid: number) => Promise<Port[]>; monitors: Monitors }): Bound[] => {
  const { list, monitors } = deps
  return [
    handle(wire.listPorts, async ({ params: { pid } }) => ({ pid, ports: await list(pid) })),
    handle(wire.startMonitor, ({ params: { pid }, body }) => {
      monitors.start(pid, body?.callback ?? '')
      return { path: '', message: 'Port monitoring started successfully' }
    }),
    handle(wire.stopMonitor, ({ params: { pid } }) => {
      monitors.stop(pid)
      return { path: '', message: 'Port monitoring stopped successfully' }
    }),
  ]
}
