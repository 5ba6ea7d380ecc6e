/** What a person sees in place of a preview that does not answer, or not yet. */
import { faceOf, type AppError } from '../../../../shared/errors.ts'
import type { ErrorReply } from '../gateway/errors.ts'
import { html, type Html } from '../../web/html/html.ts'
import type { Asked } from '../../../../shared/lane/turn.ts'

/** A page that waits looks again after so many seconds. */
const againS = 2

interface Said {
  /** Where it is not what programs get. */
  readonly status?: number
  readonly title: string
  readonly text: string | Html
  readonly again?: boolean
}

/** What to look at, in the order in which it is mostly wrong. */
const nothingListens = ({ message }: AppError): Html => html`${message}. See that</p>
<ul><li>the application runs: it may still be starting, or have ended (its output is with the sandbox’s processes);</li>
<li>it listens on the port that this preview leads to;</li>
<li>it listens on all interfaces (<code>0.0.0.0</code>, often <code>--host</code>) and not on <code>127.0.0.1</code> alone.</li></ul>
<p>This page looks again by itself.`

const saidOf = (error: AppError): Said => {
  const { code, status } = faceOf(error.code)
  if (error.code === 'unavailable')
    return {
      status: 503,
      title: 'Starting',
      text: 'The sandbox behind this preview is coming up. This page looks again by itself.',
      again: true,
    }
  if (status === 401)
    return {
      title: 'Private',
      text: 'This preview is private. Open it with the address that has its token, or ask for a new one.',
    }
  if (code === 'ROUTE_NOT_FOUND')
    return {
      title: 'Not found',
      text: 'There is no preview at this address: it was deleted, or its time is over.',
    }
  if (code === 'UPSTREAM_FAILED') return { title: 'Nothing answers', text: nothingListens(error), again: true }
  if (code === 'WORKLOAD_UNAVAILABLE')
    return { title: 'Not running', text: `The sandbox behind this preview is not running: ${error.message}.` }
  return { title: code.toLowerCase().replaceAll('_', ' '), text: error.message }
}

/** Asks for a page, as browsers do. */
export const wantsPage = ({ headers, method }: Pick<Asked, 'headers' | 'method'>): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/.test(headers.accept ?? '')

/** The same failure as a page. */
export const asPage = ({ headers, ...reply }: ErrorReply, error: AppError): ErrorReply => {
  const { status = reply.status, title, text, again = false } = saidOf(error)
  const page =
    html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
${again ? html`<meta http-equiv="refresh" content="${String(againS)}">\n` : []}<title>${title}</title><body style="font:16px/1.5 system-ui;max-width:40em;margin:4em auto;padding:0 1em">
<h1>${title}</h1><p>${text}</p><p><small>${faceOf(error.code).code}: ${error.message}</small></p>
`.text
  return {
    status,
    body: page,
    headers: {
      ...headers,
      ...(again ? { 'retry-after': String(againS) } : {}),
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(page)),
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    },
  }
}
