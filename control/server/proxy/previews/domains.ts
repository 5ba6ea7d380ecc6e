/** Which custom domains lead to this host: known by heart, for every request is asked about by its host name. */
import type { Config } from '../../../base/config.ts'
import { customDomainKind } from '../../../core/kinds/custom-domain.ts'
import type { Resource, Store, Written } from '../../../core/store/store.ts'

export interface CustomHost {
  /** The domain itself. */
  readonly domain: string
  /** What stands before it, without the dot between; '' for the domain itself. */
  readonly label: string
}

export interface Domains {
  /** To be told of everything that is written. */
  written(all: Pick<Written, 'resources' | 'removed'>): void
  /** For a host name without a port, lower case; undefined when it belongs to no verified domain. */
  match(host: string): CustomHost | undefined
  /** The workspaces that may use a domain, its owner's first. */
  workspaces(domain: string): readonly string[]
}

const { kind } = customDomainKind

interface Use {
  readonly workspace: string
  readonly isOwner: boolean
  readonly since: number
}

/** Owners before those it is shared with, and who was first before who claims it too. */
const order = (one: Use, other: Use): number => Number(other.isOwner) - Number(one.isOwner) || one.since - other.since

type Names = Pick<Config, 'publicUrl' | 'sandboxDomain' | 'previewDomain'>

/** Whether a name is the operator's own: no customer's domain takes it. */
const ownNames = ({ publicUrl, sandboxDomain, previewDomain }: Names) => {
  const names = [...(publicUrl ? [new URL(publicUrl).hostname] : []), sandboxDomain, previewDomain, 'localhost']
  const own = names.filter(Boolean)
  return (host: string): boolean => own.some(name => host === name || host.endsWith(`.${name}`))
}

/** Reads the domains there are; `tell` is handed the listener before they are read, so that no change in between is missed. */
export const openDomains = async (
  { resources }: Pick<Store, 'resources'>,
  config: Names,
  tell: (listener: Pick<Domains, 'written'>) => void = () => {},
): Promise<Domains> => {
  const reserved = ownNames(config)
  /** By domain, who uses it, by uid. */
  const known = new Map<string, Map<string, Use>>()
  const forget = (domain: string, uid: string): void => {
    const uses = known.get(domain)
    if (uses?.delete(uid) && uses.size === 0) known.delete(domain)
  }
  const learn = ({ kind: of, uid, name, status, workspace, spec, createdAt }: Resource): void => {
    if (of !== kind) return
    if (status !== 'verified' || spec['domainType'] !== 'previews') return forget(name, uid)
    const uses = known.get(name) ?? new Map<string, Use>()
    known.set(name, uses.set(uid, { workspace, isOwner: !spec['sharedFromWorkspace'], since: createdAt }))
  }
  const apply: Domains['written'] = all => {
    for (const one of all.removed) if (one.kind === kind) forget(one.name, one.uid)
    for (const record of all.resources) learn(record)
  }
  /** Changes that are written while the domains are read: they come after. */
  let early: Parameters<Domains['written']>[0][] | undefined = []
  const written: Domains['written'] = all => (early ? void early.push(all) : apply(all))
  tell({ written })
  // It leads nowhere until it can be read, which `hutch doctor` says.
  for (const record of await resources.everyOf(kind, () => {})) learn(record)
  early.forEach(apply)
  early = undefined
  return {
    written,
    match(host) {
      if (known.size === 0 || reserved(host)) return undefined
      const words = host.split('.')
      for (let at = 0; at < words.length - 1; at++) {
        const domain = words.slice(at).join('.')
        if (known.has(domain)) return { domain, label: words.slice(0, at).join('.') }
      }
      return undefined
    },
    workspaces: domain => [...(known.get(domain)?.values() ?? [])].toSorted(order).map(({ workspace }) => workspace),
  }
}
