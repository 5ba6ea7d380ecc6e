/** What a person sees in place of a preview that does not answer. */
import type { IncomingMessage } from 'node:http'
import type { ErrorReply } from '../gateway/errors.ts'
import { html } from '../html/html.ts'

const advice: Readonly<Record<number, string>> = {
  401: 'This preview is private. Open it with the address that has its token, or ask for a new one.',
  404: 'There is no preview at this address: it was deleted, or its time is over.',
  502: 'Nothing listens on the port of this preview. See that the application runs in the sandbox, on that port, and on all interfaces (0.0.0.0) rather than on 127.0.0.1 of another namespace.',
}

/** Asks for a page, as browsers do. */
export const wantsPage = ({ headers, method }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/.test(headers.accept ?? '')

/** The same failure as a page. */
export const asPage = ({ status, headers, body }: ErrorReply): ErrorReply => {
  const { error } = JSON.parse(body) as { error: { message: string; code: string } }
  const page =
    html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${String(status)}</title><body style="font:16px/1.5 system-ui;max-width:40em;margin:4em auto;padding:0 1em">
<h1>${String(status)}</h1><p>${advice[status] ?? error.message}</p><p><small>${error.code}: ${error.message}</small></p>
`.text
  return {
    status,
    body: page,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(page)),
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    },
  }
}
