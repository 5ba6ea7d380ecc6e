/** Ports of processes: listed, and reported as they open. */
import { existsSync } from 'node:fs'
import type { Bound } from '../../shared/route.ts'
import type { Core } from '../core.ts'
import { createPortMonitors } from './monitors.ts'
import { portsOf } from './ports.ts'
import { networkRoutes } from './routes.ts'

/** `currentPid` gives the pid that a process has now; it is another one after a restart. */
export const createNetwork = (
  core: Pick<Core, 'clock' | 'log' | 'closing'>,
  currentPid: (pid: number) => number = pid => pid,
): readonly Bound[] => {
  const list = (pid: number) => portsOf(currentPid(pid))
  const exists = (pid: number) => existsSync(`/proc/${currentPid(pid)}`)
  const monitors = createPortMonitors({ ...core, list, exists })
  core.closing.add('port monitors', monitors.close)
  return networkRoutes({ list, monitors })
}
