/** Terminals, loaded with their first use: few sandboxes use one. */
import type { Bound } from '../../shared/route.ts'
import { terminalWire } from '../../shared/wire/terminal.ts'
import type { Core } from '../core.ts'
import { lazyRoutes } from '../lazy-routes.ts'
import type { InheritedTerminal } from '../upgrade/handover.ts'
import type { HandoverSource } from '../upgrade/successor.ts'
import type { Terminals } from './routes.ts'

export interface TerminalRoom extends HandoverSource<InheritedTerminal> {
  readonly bounds: readonly Bound[]
  /** Loads them now when the daemon before this one had any, whose shells still run. */
  begin(): Promise<void>
}

export const createTerminalRoom = (core: Core): TerminalRoom => {
  const { config } = core
  const inherited = core.inherited.terminals
  let loading: Promise<Terminals> | undefined
  const load = (): Promise<Terminals> => {
    loading ??= Promise.all([import('./routes.ts'), core.nodeInternals.loadPtyOpener()])
      .then(([{ openTerminals }, opener]) =>
        openTerminals({ ...core, opener, enabled: config.terminal, cwd: core.workdir(), inherited }),
      )
      .catch(error => {
        loading = undefined
        throw error
      })
    return loading
  }
  return {
    bounds: lazyRoutes(terminalWire, async () => (await load()).bounds),
    async begin() {
      if (inherited.length > 0) await load()
    },
    async disconnect() {
      return loading ? (await loading).disconnect() : () => []
    },
    acceptClients() {
      // A failure to load them was reported to the client that asked for one.
      loading?.then(({ acceptClients }) => acceptClients()).catch(() => undefined)
    },
  }
}
