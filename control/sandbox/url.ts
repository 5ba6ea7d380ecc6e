import type { Resource } from '../store/store.ts'
import { storedSandbox } from './stored.ts'

export interface UrlOptions {
  /** Without a trailing slash. */
  readonly publicUrl: string
  readonly sandboxDomain: string
}

/**
 * A sandbox's address, absolute and without a trailing slash: the path form, which needs no DNS, or the host form
 * when a domain with a wildcard entry is configured.
 */
export const sandboxUrl = (row: Resource, { publicUrl, sandboxDomain }: UrlOptions): string => {
  if (!sandboxDomain) return `${publicUrl}/${row.workspace}/sandboxes/${row.name}`
  const { protocol, port } = new URL(publicUrl)
  const host = `sbx-${row.name}-${row.workspace}.${storedSandbox(row).region}.${sandboxDomain}`
  return `${protocol}//${host}${port ? `:${port}` : ''}`
}
