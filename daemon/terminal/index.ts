import type { Bound } from '../../shared/route.ts'
import type { Core } from '../core.ts'
import type { Leaving } from '../system/index.ts'
import type { InheritedTerminal } from '../upgrade/handover.ts'
import type { Terminal } from './routes.ts'

export interface TerminalLoader extends Leaving<InheritedTerminal> {
  /** Loads terminals the first time; the same routes after that. */
  load(): Promise<readonly Bound[]>
  /** Loads them now when an earlier daemon has left any: their shells go on. */
  begin(): Promise<void>
}

/** Terminals are loaded with their first use: few sandboxes have one. */
export const terminalLoader = (core: Core): TerminalLoader => {
  const { config } = core
  const inherited = config.inherited.terminals
  let loading: Promise<Terminal> | undefined
  const loaded = () => {
    loading ??= import('./routes.ts')
      .then(({ openTerminal }) => openTerminal({ ...core, enabled: config.terminal, cwd: config.workdir, inherited }))
      .catch(error => {
        loading = undefined
        throw error
      })
    return loading
  }
  return {
    load: async () => (await loaded()).bounds,
    async begin() {
      if (inherited.length > 0) await loaded()
    },
    async leave() {
      return loading ? (await loading).leave() : () => []
    },
    stay() {
      // What could not be loaded was told to who asked for it.
      loading?.then(({ stay }) => stay()).catch(() => undefined)
    },
  }
}
