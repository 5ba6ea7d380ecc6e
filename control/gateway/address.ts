/** Which workload a request is for: by Host header, or by path on the run address. */

/** A request to one sandbox. Name and workspace may both hold hyphens, so a host can be read in several ways. */
export interface SandboxAddress {
  readonly readings: readonly { readonly name: string; readonly workspace: string }[]
  /** Port of the sandbox that is meant: the daemon's (undefined) or one named by `/port/{n}`. */
  readonly port: number | undefined
  /** What the workload sees, query included. */
  readonly target: string
  /** What stands before that in the address, or ''. */
  readonly base: string
}

const withPort = (target: string, before = ''): Omit<SandboxAddress, 'readings'> | undefined => {
  const match = /^\/port\/(\d{1,5})(?=[/?]|$)(.*)$/s.exec(target)
  // Clients join a base address with a slash at its end and a path that begins with one.
  if (!match) return { port: undefined, target: target.replace(/^\/{2,}/, '/') || '/', base: before }
  const port = Number(match[1])
  if (port < 1 || port > 65_535) return undefined
  const rest = match[2] as string
  return { port, target: rest.startsWith('/') ? rest : `/${rest}`, base: `${before}/port/${match[1]}` }
}

/** `sbx-a-b-c` is sandbox `a` of workspace `b-c`, or `a-b` of `c`. */
const readings = (label: string) => {
  const words = label.slice('sbx-'.length).split('-')
  return words
    .slice(1)
    .map((_, index) => ({ name: words.slice(0, index + 1).join('-'), workspace: words.slice(index + 1).join('-') }))
}

/** Reads `sbx-{name}-{workspace}.{region}…` for a region this box answers to; undefined for any other host. */
export const byHost = (host: string, target: string, regions: readonly string[]): SandboxAddress | undefined => {
  const [label = '', region = ''] = host.toLowerCase().replace(/:\d+$/, '').split('.')
  if (!label.startsWith('sbx-') || !regions.includes(region) || !target.startsWith('/')) return undefined
  const rest = withPort(target)
  return rest && { readings: readings(label), ...rest }
}

/** Reads `/{workspace}/sandboxes/{name}/…`; undefined for any other path, and for `/v0/…`, which no workspace is called. */
export const byPath = (target: string): SandboxAddress | undefined => {
  const match = /^\/((?!v\d)[a-z0-9][a-z0-9-]*)\/sandboxes\/([a-z0-9][a-z0-9-]*)(?=[/?]|$)(.*)$/s.exec(target)
  if (!match) return undefined
  const base = `/${match[1]}/sandboxes/${match[2]}`
  const rest = withPort(match[3]?.startsWith('?') ? `/${match[3]}` : (match[3] as string), base)
  return rest && { readings: [{ name: match[2] as string, workspace: match[1] as string }], ...rest }
}
