/** From an address to the preview, and whether the caller may see it. */
import { fail } from '../../../../shared/errors.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { hashKey } from '../../../core/access/keys.ts'
import type { Right } from '../../../core/access/standing.ts'
import { originWide } from '../gateway/headers.ts'
import { customDomainKind } from '../../../core/kinds/custom-domain.ts'
import { customHostOf } from '../../../core/kinds/preview.ts'
import { isUp } from '../../../core/transitions/instance-life.ts'
import type { Kind } from '../../../core/records/kind.ts'
import type { Instance, Key, Owner, Resource, Store } from '../../../core/store/store.ts'
import type { PreviewAddress } from './address.ts'
import type { CustomHost, Domains } from './domains.ts'

export interface FindDeps {
  readonly store: Store
  readonly kinds: ReadonlyMap<string, Kind>
  readonly clock: Clock
  readonly domains: Pick<Domains, 'match' | 'workspaces'>
}

export interface Preview {
  readonly record: Resource
  readonly port: number
  readonly isPublic: boolean
  /** As what the application is asked. */
  readonly hostHeader: 'localhost' | 'preview'
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseHeaders: Readonly<Record<string, string>>
  /** It stands for this one, which there is not. */
  readonly fallbackFor?: CustomHost | undefined
}

/** At the origin of the API a preview says nothing that counts for all of it. */
const saidAt = ({ isShared }: PreviewAddress, headers: Readonly<Record<string, string>>): Record<string, string> => {
  const counts = (name: string): boolean => name === 'set-cookie' || originWide.has(name)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isShared || !counts(name.toLowerCase())))
}

/** By `{id}.preview.{domain}` or `{prefix or name}.{domain}`. */
const customAt = async ({ store: { resources }, domains }: FindDeps, { domain, label }: CustomHost) => {
  const workspaces = domains.workspaces(domain)
  const [, id] = /^([a-z0-9]+)\.preview$/.exec(label) ?? []
  if (id !== undefined) {
    const found = await resources.byClaim('preview', `id:${id}`)
    return found && workspaces.includes(found.workspace) && customHostOf(found)?.domain === domain ? found : undefined
  }
  for (const workspace of workspaces) {
    const found = await resources.claimant('preview', workspace, `${label}.${domain}`)
    if (found) return found
  }
  return undefined
}

/** The preview of the domain's own workspace that stands for those that are not there. */
const fallbackAt = async ({ store: { resources }, domains }: FindDeps, { domain }: CustomHost) => {
  const [workspace = ''] = domains.workspaces(domain)
  const record = await resources.get({ kind: customDomainKind.kind, workspace, parent: '', name: domain })
  const id = record?.spec['fallbackPreviewId']
  const found = id ? await resources.byClaim('preview', `id:${String(id)}`) : undefined
  return found?.workspace === workspace ? found : undefined
}

const recordAt = async (deps: FindDeps, { id, workspace, readings, custom }: PreviewAddress) => {
  const { store } = deps
  if (custom) return customAt(deps, custom)
  if (id !== undefined) {
    const found = await store.resources.byClaim('preview', `id:${id}`)
    return !workspace || found?.workspace === workspace ? found : undefined
  }
  const found: Resource[] = []
  for (const reading of readings) {
    const known = await store.tenants.workspace(reading.workspace)
    const one = known && (await store.resources.claimant('preview', known.name, `${reading.prefix}.`))
    if (one) found.push(one)
  }
  // One that another workspace makes later under the same host name does not take it over.
  return found.toSorted((one, other) => one.createdAt - other.createdAt)[0]
}

/** Whether one is there now. */
export const isServed = ({ kinds, clock }: FindDeps, record: Resource): boolean => {
  const status = kinds.get(record.kind)?.statusAt?.({ record, instances: [] }, clock.now()) ?? record.status
  return status === 'DEPLOYED'
}

/** Undefined for one that is not there, or whose time is over, and that no other stands for. */
export const findPreview = async (deps: FindDeps, address: PreviewAddress): Promise<Preview | undefined> => {
  const { custom } = address
  const own = await recordAt(deps, address)
  const isThere = own !== undefined && isServed(deps, own)
  const record = isThere || !custom ? own : await fallbackAt(deps, custom)
  if (!record || !isServed(deps, record)) return undefined
  const { port, public: isPublic, hostHeader, requestHeaders, responseHeaders } = record.spec
  return {
    record,
    port: port as number,
    isPublic: isPublic === true,
    hostHeader: hostHeader === 'preview' ? 'preview' : 'localhost',
    requestHeaders: (requestHeaders ?? {}) as Record<string, string>,
    fallbackFor: isThere ? undefined : custom,
    responseHeaders: saidAt(address, (responseHeaders ?? {}) as Record<string, string>),
  }
}

/** Until when a token opens the preview, epoch ms or null for ever. Throws `unauthenticated`. */
export const needToken = async (
  { store, clock, kinds }: FindDeps,
  { record }: Preview,
  token: string | undefined,
): Promise<number | null> => {
  const { workspace, parent, name } = record
  const kind = [...kinds.values()].find(one => one.parent?.kind === record.kind)?.kind as string
  const key = token && { kind, workspace, parent: `${parent}/${name}`, name: hashKey(token) }
  const found = key ? await store.resources.get(key) : undefined
  const expiresAt = found?.spec['expiresAt'] ? Date.parse(found.spec['expiresAt'] as string) : null
  if (!found || (expiresAt !== null && expiresAt <= clock.now()))
    throw fail('unauthenticated', { reason: 'the preview is private, and its token is missing, wrong or over' })
  return expiresAt
}

/** What lets a request go on: the preview that was found, and the token where it is private. */
export const rightOf = (deps: FindDeps, address: PreviewAddress, found: Preview, token: string | undefined): Right => ({
  id: `${found.record.uid} ${found.isPublic ? '' : hashKey(token ?? '')}`,
  async holds() {
    const now = await findPreview(deps, address)
    if (now?.record.uid !== found.record.uid) throw fail('unauthenticated', { reason: 'the preview is over' })
    if (!now.isPublic) await needToken(deps, now, token)
  },
})

/** Whose machines are meant, and one of them that is up where there is one. Throws `workload_not_found`. */
export const machineOf = async (
  { store, kinds }: FindDeps,
  { record }: Preview,
): Promise<{ owner: Owner; instance?: Instance }> => {
  const kind = kinds.get(record.kind)?.parent?.kind as string
  const key: Key = { kind, workspace: record.workspace, parent: '', name: record.parent }
  const instance = (await store.instances.ofKey(key)).find(isUp)
  if (instance) return { owner: instance.owner, instance }
  const outer = await store.resources.get(key)
  if (!outer) throw fail('workload_not_found', { kind, wanted: `"${key.name}" in "${key.workspace}"` })
  return { owner: { ...key, uid: outer.uid } }
}
