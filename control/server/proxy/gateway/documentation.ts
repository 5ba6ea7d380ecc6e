/** The documentation of a workload's API. The host answers it: in the sandbox a tenant could have become the daemon, and show any page. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fail } from '../../../../shared/errors.ts'
import { jsonText } from '../../../../shared/route.ts'
import { sandboxHeaders } from '../../../../shared/wire/sandbox-headers.ts'
import { onwardText } from '../../web/html/onward-page.ts'
import { pageHeaders, rootFrom } from '../../web/html/page.ts'
import type { WorkloadAddress } from './address.ts'

export interface Documentation {
  /** Where workloads of a kind are, as a path. */
  place(kind: string, reading: WorkloadAddress['readings'][number]): string
  /** Headers and text of a page for the workload at `place`, `/{workspace}/{plural}/{name}`; `root` leads to the API's root. */
  page(place: string, root: string): { readonly headers: Headers; readonly text: string }
  /** `openapi.json` and `doc.json`, which is Swagger 2.0, of the API at a base path; undefined for another name. */
  document(name: string, where: { base: string; host: string; scheme: string }): object | undefined
}

export interface Documenting {
  readonly documentation: Documentation
  /** Where browsers log in, for who came by this host name; without a slash at its end. */
  readonly apiOrigin: (host: string) => string
}

type Headers = Readonly<Record<string, string>>

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Resolves when the caller may use the workload; throws why not. */
  readonly enter: () => Promise<unknown>
}

const send = ({ request, response }: Call, status: number, headers: Headers, text = ''): void => {
  response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(text)) })
  response.end(request.method === 'HEAD' ? undefined : text)
}

const pathOf = ({ target }: WorkloadAddress): string => target.split('?', 1)[0] as string

/** Whether it is asked for, by whichever port: the host answers it. */
export const isDocumentation = (address: WorkloadAddress): boolean =>
  address.target.startsWith('/swagger') && /^\/swagger(?=\/|$)/.test(pathOf(address))

export const asksForDocumentation = (address: WorkloadAddress, { method }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && address.port === undefined && isDocumentation(address)

/** By the number of its port, too, the daemon's page is not the daemon's to answer: leads to where the host answers it. */
export const leadToDocumentation = (
  address: WorkloadAddress,
  response: ServerResponse,
  port: number | undefined,
): boolean => {
  if (port === undefined || address.port !== port || !isDocumentation(address)) return false
  response.writeHead(307, { location: `${address.base.replace(/\/port\/\d+$/, '')}/swagger/index.html` })
  response.end()
  return true
}

/** The explorer for this workload; at the host name of a workload, whose applications could read what is typed, a page that leads there. */
const answerPage = ({ documentation, apiOrigin }: Documenting, address: WorkloadAddress, call: Call): void => {
  const { host = '' } = call.request.headers
  const root = rootFrom((call.request.url ?? '/').split('?', 1)[0] as string)
  const { kind, base, form, readings } = address
  if (form === 'path') {
    const { headers, text } = documentation.page(base, root)
    return send(call, 200, headers, text)
  }
  const [one, ...others] = readings
  const at = one && others.length === 0 ? `?at=${documentation.place(kind, one)}` : ''
  send(call, 200, pageHeaders(), onwardText(`${apiOrigin(host)}/explorer/${at}`, root))
}

/** The page says nothing of the workload, not even that it is there; its documents are for who may use it. */
export const answerDocumentation = async (
  context: Documenting,
  address: WorkloadAddress,
  call: Call,
): Promise<void> => {
  const { request, enter } = call
  const file = pathOf(address).slice('/swagger'.length)
  if (file === '') return send(call, 301, { location: `${address.base}/swagger/index.html` })
  if (file === '/' || file === '/index.html') return answerPage(context, address, call)
  await enter()
  const { host = '' } = request.headers
  const scheme = new URL(context.apiOrigin(host)).protocol.slice(0, -1)
  const document = context.documentation.document(file.slice(1), { base: address.base || '/', host, scheme })
  if (!document) throw fail('not_found', { kind: 'document', name: file.slice(1) })
  send(call, 200, { ...sandboxHeaders, 'content-type': 'application/json; charset=utf-8' }, jsonText(document))
}
