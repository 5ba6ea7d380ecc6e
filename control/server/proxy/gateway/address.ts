/** Which workload a request is for: by Host header, or by path on the run address. `url.ts` writes what is read here. */

/** How the workloads of one kind are addressed. */
export interface AddressForm {
  readonly kind: string
  /** `/{workspace}/{plural}/{name}/…` */
  readonly plural: string
  /** `{label}-{name}-{workspace}.{region}.…` */
  readonly label: string
  /** What a key that is limited to scopes needs in order to reach them. */
  readonly scope: string
  /** Every path is its server's, also those that lead to other ports elsewhere. */
  readonly isWhole?: boolean
}

/** A request to one workload. Name and workspace may both hold hyphens, so a host can be read in several ways. */
export interface WorkloadAddress {
  readonly kind: string
  /** By host name, then the workload has an origin of its own; or by path, on the origin of the API. */
  readonly form: 'host' | 'path'
  readonly readings: readonly { readonly name: string; readonly workspace: string }[]
  /** Port of the machine that is meant: the daemon's (undefined) or one named by `/port/{n}`. */
  readonly port: number | undefined
  /** What the workload sees, query included. */
  readonly target: string
  /** What stands before that in the address, or ''. */
  readonly base: string
}

type Rest = Pick<WorkloadAddress, 'port' | 'target' | 'base'>

const restOf = ({ isWhole }: AddressForm, target: string, before = ''): Rest | undefined =>
  isWhole
    ? { port: undefined, target: target.startsWith('/') ? target : `/${target}`, base: before }
    : withPort(target, before)

const withPort = (target: string, before: string): Rest | undefined => {
  const match = target.startsWith('/port/') && /^\/port\/(\d{1,5})(?=[/?]|$)(.*)$/s.exec(target)
  // Clients join a base address with a slash at its end and a path that begins with one.
  if (!match) return { port: undefined, target: target.replace(/^\/{2,}/, '/') || '/', base: before }
  const port = Number(match[1])
  if (port < 1 || port > 65_535) return undefined
  const rest = match[2] as string
  return { port, target: rest.startsWith('/') ? rest : `/${rest}`, base: `${before}/port/${match[1]}` }
}

/** `a-b-c` is `a` of workspace `b-c`, or `a-b` of `c`. */
const readings = (joined: string) => {
  const words = joined.split('-')
  return words
    .slice(1)
    .map((_, index) => ({ name: words.slice(0, index + 1).join('-'), workspace: words.slice(index + 1).join('-') }))
}

/** Reads `{label}-{name}-{workspace}.{region}…` for a region this box answers to; undefined for any other host. */
export const byHost = (
  host: string,
  target: string,
  { forms, regions }: { forms: readonly AddressForm[]; regions: readonly string[] },
): WorkloadAddress | undefined => {
  const name = host.toLowerCase()
  const form = forms.find(({ label }) => name[label.length] === '-' && name.startsWith(label))
  if (!form) return undefined
  const [label = '', region = ''] = name.replace(/:\d+$/, '').split('.')
  if (!regions.includes(region) || !target.startsWith('/')) return undefined
  const rest = restOf(form, target)
  return rest && { kind: form.kind, form: 'host', readings: readings(label.slice(form.label.length + 1)), ...rest }
}

const pathForm = /^\/((?!v\d)[a-z0-9][a-z0-9-]*)\/([a-z]+)\/([a-z0-9][a-z0-9-]*)(?=[/?]|$)(.*)$/s

/** Reads `/{workspace}/{plural}/{name}/…`; undefined for any other path, and for `/v0/…`, which no workspace is called. */
export const byPath = (target: string, forms: readonly AddressForm[]): WorkloadAddress | undefined => {
  const [, workspace = '', plural = '', name = '', after = ''] = pathForm.exec(target) ?? []
  const form = forms.find(one => one.plural === plural)
  if (!form) return undefined
  const rest = restOf(form, after.startsWith('?') ? `/${after}` : after, `/${workspace}/${plural}/${name}`)
  return rest && { kind: form.kind, form: 'path', readings: [{ name, workspace }], ...rest }
}
