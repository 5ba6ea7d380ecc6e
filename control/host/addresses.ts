/** Where this host and what runs on it are reached. */
import type { Config } from '../base/config.ts'
import { previewKind } from '../core/kinds/preview.ts'
import { workloadUrl } from '../core/records/workload-url.ts'
import type { KindsByName } from './kinds.ts'
import { publicUrlOf } from '../base/listening.ts'
import { previewUrl } from '../core/kinds/preview-url.ts'
import type { Resource } from '../core/store/store.ts'

export interface Addresses {
  /** Of a record whose machines are reached; undefined for others. */
  url(record: Resource): string | undefined
  /** The name that custom domains point to. */
  domain(): string
  /** Of this host. */
  publicUrl(): string
  /** The host listens on that port; answers its address. */
  listening(port: number): string
}

export const createAddresses = (config: Config, rules: KindsByName): Addresses => {
  const { sandboxDomain } = config
  let publicUrl = publicUrlOf(config, config.port)
  return {
    url(record) {
      const { plural = '', dataPlane: machines, server } = rules.get(record.kind) ?? {}
      const dataPlane = machines ?? server
      if (record.kind === previewKind.kind)
        return previewUrl(record, publicUrl, { regions: config.regions, domain: config.previewDomain })
      if (!dataPlane) return undefined
      return workloadUrl(record, { plural, dataPlane }, { publicUrl, sandboxDomain })
    },
    domain: () => sandboxDomain || new URL(publicUrl).hostname,
    publicUrl: () => publicUrl,
    listening(port) {
      publicUrl = publicUrlOf(config, port)
      return publicUrl
    },
  }
}
