/** Probes every driver and runtime that is on the box, and the configured one whether it is or not. */
import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../../base/config.ts'
import { chooseRuntime } from '../../drivers/oci/probe/choose-runtime.ts'
import { probeOci } from '../../drivers/oci/probe.ts'
import { presentRuntimes } from '../../drivers/oci/runtime.ts'
import { unpacksLater } from '../../core/runtime/prepare.ts'
import type { Diagnosis } from './report.ts'

export const diagnose = async (
  config: Pick<Config, 'dataDir' | 'runtime' | 'bundleDir' | 'imagesDir' | 'userNamespaces' | 'diskQuota'>,
  deps: { clock: Clock },
  signal?: AbortSignal,
): Promise<Diagnosis[]> => {
  const bundleLater = (await unpacksLater(config)) ? 'in the package; the first start unpacks it' : undefined
  const diagnoses: Diagnosis[] = []
  const { runtime: configured } = await chooseRuntime(config, deps, signal)
  for (const runtime of new Set([configured, ...presentRuntimes()]))
    diagnoses.push({
      driver: `oci (${runtime})`,
      configured: runtime === configured,
      probe: await probeOci({ ...config, runtime, bundleLater }, deps, signal),
    })
  return diagnoses
}
