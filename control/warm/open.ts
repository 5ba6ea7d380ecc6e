/** Pools by the host's configuration. */
import { realpath } from 'node:fs/promises'
import type { Closing } from '../../shared/closing.ts'
import { errno } from '../../shared/errors.ts'
import type { Config } from '../config.ts'
import type { Parts } from '../parts.ts'
import { writeWireNames } from '../../shared/wire-names.ts'
import { createWarm, type Warm } from './warm.ts'

/** A bundle's directory is named by what is in it. */
const bundleOf = ({ bundleDir }: Config): Promise<string> =>
  realpath(bundleDir).catch(error => {
    if (errno(error) === 'ENOENT') return bundleDir
    throw error
  })

export const openWarm = async (
  config: Config,
  parts: Parts & { readonly draining: () => boolean },
  closer: Closing,
): Promise<Warm> =>
  createWarm(
    { ...parts, closing: closer },
    {
      sizes: config.warm,
      mostDemanded: config.warmDemand,
      ownEnvironment: { HUTCH_WIRE_NAMES: writeWireNames(config.wireNames) },
      bundle: await bundleOf(config),
    },
  )
