import type { Resource } from '../store/store.ts'
import { customHostOf } from './preview.ts'

export interface PreviewNames {
  readonly regions: readonly string[]
  /** Domain with a wildcard entry for this box; '' for none. */
  readonly domain: string
}

/** A preview's own address, absolute and without a trailing slash: by host name where there is a domain, else by path. */
export const previewUrl = (record: Resource, publicUrl: string, { domain }: PreviewNames): string => {
  const { workspace, spec } = record
  const { protocol, port } = new URL(publicUrl)
  const after = port ? `:${port}` : ''
  const custom = customHostOf(record)
  if (custom) return `${protocol}//${custom.label}.${custom.domain}${after}`
  const id = String(spec['previewId'])
  if (!domain) return `${publicUrl}/${workspace}/previews/${id}`
  const label = spec['prefixUrl'] ? `${String(spec['prefixUrl'])}-${workspace}` : id
  return `${protocol}//${label}.${String(spec['region'])}.${domain}${after}`
}
