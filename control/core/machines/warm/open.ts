/** Pools by the host's configuration. */
import { realpath } from 'node:fs/promises'
import type { Closing } from '../../../../shared/closing.ts'
import { errno } from '../../../../shared/errors.ts'
import type { Config } from '../../../base/config.ts'
import { writeWireNames } from '../../../../shared/wire-names.ts'
import { createWarm, type Warm, type WarmDeps, type WarmOptions } from './warm.ts'

/** A bundle's directory is named by what is in it. */
const bundleOf = ({ bundleDir }: Config): Promise<string> =>
  realpath(bundleDir).catch(error => {
    if (errno(error) === 'ENOENT') return bundleDir
    throw error
  })

interface WarmParts extends Omit<WarmDeps, 'closing'>, Pick<WarmOptions, 'environmentOf'> {
  /** Machines of no image kept ahead of need though nothing has asked for any; 0 for none. */
  readonly genericMachines: number
}

export const openWarm = async (
  config: Config,
  { environmentOf, genericMachines, ...parts }: WarmParts,
  closer: Closing,
): Promise<Warm> =>
  createWarm(
    { ...parts, closing: closer },
    {
      sizes: config.warm,
      unasked: genericMachines,
      mostDemanded: config.warmDemand,
      ownEnvironment: { HUTCH_WIRE_NAMES: writeWireNames(config.wireNames) },
      environmentOf,
      bundle: await bundleOf(config),
    },
  )
