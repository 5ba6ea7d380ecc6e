/** Where browsers reach this host and its workloads, seen from the address by which they came. */
import type { Resource } from '../../../core/store/store.ts'

export interface OriginOptions {
  /** Without a trailing slash. */
  readonly publicUrl: () => string
  readonly sandboxDomain: string
}

/** Browsers resolve every name below `localhost` to the machine they run on. */
const isLocal = (host: string): boolean =>
  /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:[a-z0-9-]+\.)*localhost)(?::\d+)?$/i.test(host)

const portOf = (host: string): string => /:\d+$/.exec(host)?.[0] ?? ''

/** Without a trailing slash. `host` is the `Host` header of who asks. */
export const apiOrigin = (host: string, { publicUrl }: OriginOptions): string => {
  const configured = publicUrl()
  if (!isLocal(host) || !isLocal(new URL(configured).host)) return configured
  return `${new URL(configured).protocol}//${/\.localhost(?::\d+)?$/i.test(host) ? `localhost${portOf(host)}` : host}`
}

/** The origin that only this record has, as a browser reaches it; undefined where there is none. */
export const workloadOrigin = (
  record: Pick<Resource, 'name' | 'workspace'>,
  { label, region }: { readonly label: string; readonly region: string },
  host: string,
  { publicUrl, sandboxDomain }: OriginOptions,
): string | undefined => {
  const { protocol, port } = new URL(publicUrl())
  const name = `${label}-${record.name}-${record.workspace}.${region}`
  if (sandboxDomain) return `${protocol}//${name}.${sandboxDomain}${port ? `:${port}` : ''}`
  return isLocal(host) ? `${protocol}//${name}.localhost${portOf(host)}` : undefined
}
