import type { Bound } from '../../shared/route.ts'
import type { Config } from '../config/config.ts'
import type { Core } from '../core.ts'
import { isMarked } from './marker.ts'

/** True when the sandbox must not go on without the tunnel being looked after at once. */
const neededAtStart = ({ networkingConfig, stateDir, rehearsal }: Config): boolean =>
  !rehearsal && (networkingConfig !== '' || isMarked(stateDir))

export interface TunnelLoader {
  /** Loads the tunnel the first time; the same routes after that. */
  load(): Promise<readonly Bound[]>
  /** Loads it now when it must be up, or the sandbox closed, before anything of a tenant's runs. Never throws for what fails. */
  begin(): Promise<void>
}

export const tunnelLoader = (core: Core): TunnelLoader => {
  const atStart = neededAtStart(core.config)
  let loading: Promise<readonly Bound[]> | undefined
  const load = () => {
    loading ??= import('./open.ts').then(({ openTunnel }) => openTunnel(core, { atStart }))
    return loading
  }
  return {
    load,
    async begin() {
      if (atStart) await load()
    },
  }
}
