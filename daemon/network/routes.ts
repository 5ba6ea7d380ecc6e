import { existsSync } from 'node:fs'
import { handle, type Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/network.ts'
import type { Core } from '../core.ts'
import { portMonitors } from './monitors.ts'
import { portsOf } from './ports.ts'

/** `current` gives the pid that a process has now; it is another one after a restart. */
export const networkRoutes = (
  core: Pick<Core, 'clock' | 'log' | 'closing'>,
  current: (pid: number) => number = pid => pid,
): Bound[] => {
  const list = (pid: number) => portsOf(current(pid))
  const exists = (pid: number) => existsSync(`/proc/${current(pid)}`)
  const monitors = portMonitors({ ...core, list, exists })
  core.closing.add('port monitors', monitors.close)
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
