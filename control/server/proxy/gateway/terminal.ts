/** The terminal's page. The host answers it: in the sandbox a tenant could have become the daemon, and show any page. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Ids } from '../../../../shared/ids.ts'
import { prefersHtml } from '../../web/html/accept.ts'
import { pageHeaders, rootFrom } from '../../web/html/page.ts'
import { terminalPage } from '../../web/html/terminal-page.ts'
import type { WorkloadAddress } from './address.ts'
import type { Entered } from './admit.ts'
import { isTerminal } from './credential.ts'
import type { Logins, Opening } from './logins.ts'
import type { Records } from './resolve.ts'

/** Whether the page is asked for, not its socket. */
export const asksForTerminalPage = (address: WorkloadAddress, { method }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && isTerminal(address) && !address.target.startsWith('/terminal/ws')

const redirect = (response: ServerResponse, location: string, headers: Record<string, string> = {}): void => {
  const common = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'content-length': '0' }
  response.writeHead(303, { ...common, ...headers, location })
  response.end()
}

/**
 * A browser that came with the key in the address leaves it there: it gets a cookie, at the origin of the API, where no page
 * of a workload can read what is typed.
 */
export const answerTerminalPage = async (
  { logins, records, ids }: { readonly logins: Logins; readonly records: Records; readonly ids: Pick<Ids, 'secret'> },
  address: WorkloadAddress,
  { credential, resolved, key }: Entered,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> => {
  const { target } = credential
  if (credential.inAddress && prefersHtml(request.headers.accept)) {
    const record = await records(resolved.owner)
    const cut = target.indexOf('?')
    const opening: Opening = { record, port: null, rest: cut < 0 ? '' : target.slice(cut), key }
    if (address.form === 'host') return redirect(response, logins.link(opening, request.headers.host ?? '').url)
    const { cookie, location } = logins.open(opening)
    return redirect(response, location, { 'set-cookie': cookie })
  }
  const nonce = ids.secret(16)
  const root = rootFrom((request.url ?? '/').split('?', 1)[0] as string)
  const body = terminalPage({ name: resolved.owner.name, root, nonce })
  response.writeHead(200, {
    ...pageHeaders({ styles: `'nonce-${nonce}'`, styleAttributes: true }),
    'content-length': String(Buffer.byteLength(body)),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
