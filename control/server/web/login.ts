/** Logging in with a key that is typed into a form: it is in no address, and no page of a workload sees it. */
import { fail } from '../../../shared/errors.ts'
import type { WorkloadAddress } from '../proxy/gateway/address.ts'
import { isTerminal } from '../proxy/gateway/credential.ts'
import type { Gateway } from '../proxy/gateway/gateway.ts'
import type { Logins, Opening } from '../proxy/gateway/logins.ts'
import type { Records } from '../proxy/gateway/resolve.ts'
import { html, type Html } from './html/html.ts'

export interface LoginDeps {
  readonly gateway: Pick<Gateway, 'addressOf' | 'admit'>
  readonly logins: Logins
  readonly records: Records
  /** The form of addresses that the start page offers. */
  readonly plural: string
}

/** What was typed in: `to` is the address that is meant, else the other three say it. */
export interface LoginForm {
  readonly key: string
  readonly to?: string | undefined
  readonly workspace?: string | undefined
  readonly name?: string | undefined
  readonly port?: string | undefined
}

/** `/path` at this origin or `//host/path` at another one; what else is there is for nobody. */
const addressAt = ({ gateway }: LoginDeps, to: string): WorkloadAddress => {
  const [, host, url] = /^(?:\/\/([^/]+))?(\/.*)$/s.exec(to) ?? []
  const found = url === undefined ? undefined : gateway.addressOf({ url, headers: host ? { host } : {} })
  if (found && (found.port !== undefined || isTerminal(found))) return found
  throw fail('invalid_argument', { field: 'to', reason: 'is neither the address of a terminal nor one of a port' })
}

/** What the form means, as an address. Throws `invalid_argument` naming the field. */
const addressOf = (deps: LoginDeps, { to, workspace = '', name = '', port = '' }: LoginForm): WorkloadAddress => {
  if (to) return addressAt(deps, to)
  const word = /^[a-z0-9][a-z0-9-]*$/
  if (!word.test(name)) throw fail('invalid_argument', { field: 'name', reason: 'type the name of a sandbox' })
  if (!word.test(workspace)) throw fail('invalid_argument', { field: 'workspace', reason: 'type the workspace' })
  if (!/^\d{0,5}$/.test(port) || Number(port) > 65_535)
    throw fail('invalid_argument', { field: 'port', reason: 'must be from 1 to 65535, or empty for the terminal' })
  return addressAt(deps, `/${workspace}/${deps.plural}/${name}${port ? `/port/${port}/` : '/terminal'}`)
}

/** What a key opens. Throws what the gateway would refuse a request with. */
export const openingFor = async (deps: LoginDeps, form: LoginForm): Promise<Opening> => {
  const address = addressOf(deps, form)
  const { resolved, key } = await deps.gateway.admit(address, form.key)
  const record = await deps.records(resolved.owner)
  const { port, target } = address
  return { record, port: port ?? null, rest: port === undefined ? '' : target, key }
}

const field = (name: string, label: string, value: string, more: Html): Html =>
  html`<label>${label}<input name="${name}" value="${value}" ${more}></label>\n`

const nothing = html``

/** The form; `wrong` is what is wrong with what was typed in last. */
export const loginForm = (form: Partial<LoginForm>, { action, wrong }: { action: string; wrong?: string }): Html => {
  const { to, workspace = 'default', name = '', port = '' } = form
  return html`<form method="post" action="${action}">
${wrong === undefined ? nothing : html`<p class="wrong">${wrong}</p>\n`}${
  to
    ? html`<input type="hidden" name="to" value="${to}">\n`
    : [
        field('name', 'Sandbox', name, html`required autocomplete="off"`),
        field('workspace', 'Workspace', workspace, html`required`),
        field('port', 'Port; empty for the terminal', port, html`inputmode="numeric" autocomplete="off"`),
      ]
}${field('key', 'API key', '', html`type="password" required autocomplete="current-password"`)}<button>Open</button>
</form>`
}
