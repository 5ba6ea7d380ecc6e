/** Which preview a request is for, and the address that leads to one. */
import type { PreviewNames } from '../../../core/kinds/preview-url.ts'
import type { CustomHost } from './domains.ts'

/** A name in a host name: the id of a preview, or a prefix and a workspace, which both may hold hyphens. */
export interface PreviewAddress {
  readonly id?: string
  /** Of the path form, where it has to be the preview's. */
  readonly workspace?: string
  readonly readings: readonly { readonly prefix: string; readonly workspace: string }[]
  /** By a domain of a customer's own. */
  readonly custom?: CustomHost
  /** Path and query as the application sees them, but for a token. */
  readonly target: string
  /** What stands before that in the address, or ''. */
  readonly base: string
  /** On the origin of the API, where the application must not act as a page of it. */
  readonly isShared: boolean
}

/** Finds a customer's own domain in a host name. */
export type MatchCustom = (host: string) => CustomHost | undefined

/** Names below it lead to the machine of whoever asks: browsers need no DNS for them. */
const local = '.preview.localhost'

const nameIn = (host: string): string => host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')

const suffixOf = (name: string, { regions, domain }: PreviewNames): string | undefined => {
  if (name.endsWith(local)) return local
  // Before anything is put together: every request to a sandbox is looked at, too.
  if (!domain || !name.endsWith(domain)) return undefined
  return regions.map(region => `.${region}.${domain}`).find(one => name.endsWith(one))
}

const labelIn = (name: string, names: PreviewNames): string | undefined => {
  const suffix = suffixOf(name, names)
  const label = suffix && name.slice(0, -suffix.length)
  return label && /^[a-z0-9-]+$/.test(label) ? label : undefined
}

const readingsOf = (label: string) => {
  const words = label.split('-')
  return words
    .slice(1)
    .map((_, at) => ({ prefix: words.slice(0, at + 1).join('-'), workspace: words.slice(at + 1).join('-') }))
}

const pathForm = /^\/((?!v\d)[a-z0-9][a-z0-9-]*)\/previews\/([a-z0-9]+)(?=[/?]|$)(.*)$/s

/** Undefined for a request that is for no preview. */
export const previewAddress = (
  host: string,
  target: string,
  names: PreviewNames,
  match: MatchCustom,
): PreviewAddress | undefined => {
  const name = nameIn(host)
  const label = labelIn(name, names)
  if (label !== undefined) {
    const which = label.includes('-') ? { readings: readingsOf(label) } : { id: label, readings: [] }
    return { ...which, target: target.startsWith('/') ? target : '/', base: '', isShared: false }
  }
  const custom = match(name)
  if (custom) return { custom, readings: [], target: target.startsWith('/') ? target : '/', base: '', isShared: false }
  const [, workspace, id, after = ''] = (target.includes('/previews/') && pathForm.exec(target)) || []
  if (!workspace || !id) return undefined
  const rest = after.startsWith('/') ? after : `/${after}`
  return { id, workspace, readings: [], target: rest, base: `/${workspace}/previews/${id}`, isShared: true }
}
