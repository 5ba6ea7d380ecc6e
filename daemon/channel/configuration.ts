/** What the host has configured: at the start, and since then. */
import type { BootDocument, Configuration } from '../../shared/wire/host.ts'
import { workloadEnvironment, type Config } from '../config/config.ts'
import type { Environment } from '../environment.ts'

export interface HostConfiguration {
  replace(next: Configuration): { applied: number; removed: number }
  /** The boot document as it would be for a start now: for the next daemon. */
  document(): BootDocument | undefined
}

export const createHostConfiguration = (
  boot: BootDocument | undefined,
  { environment, config }: { environment: Environment; config: Pick<Config, 'names'> },
): HostConfiguration => {
  let current = boot?.configuration
  return {
    replace(next) {
      const before = workloadEnvironment(current?.environment ?? {}, config.names)
      current = next
      return environment.configure(workloadEnvironment(next.environment, config.names), before)
    },
    document: () => boot && { ...boot, configuration: current ?? boot.configuration },
  }
}
