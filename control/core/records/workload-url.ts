import type { DataPlane } from './kind.ts'
import type { Resource } from '../store/store.ts'

export interface UrlOptions {
  /** Without a trailing slash. */
  readonly publicUrl: string
  readonly sandboxDomain: string
}

/**
 * A workload's address, absolute and without a trailing slash: the path form, which needs no DNS, or the host form when
 * a domain with a wildcard entry is configured. `address.ts` reads both.
 */
export const workloadUrl = (
  record: Resource,
  { plural, dataPlane }: { plural: string; dataPlane: DataPlane },
  { publicUrl, sandboxDomain }: UrlOptions,
): string => {
  if (!sandboxDomain) return `${publicUrl}/${record.workspace}/${plural}/${record.name}`
  const { protocol, port } = new URL(publicUrl)
  const label = `${dataPlane.label}-${record.name}-${record.workspace}`
  return `${protocol}//${label}.${dataPlane.region(record)}.${sandboxDomain}${port ? `:${port}` : ''}`
}
