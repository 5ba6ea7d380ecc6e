/** How the host's own pages answer: HTML for browsers, JSON for everybody else. */
import type { Surface } from '../../../shared/http/dispatch.ts'
import { json } from '../../../shared/route.ts'
import { fail } from '../../../shared/errors.ts'
import { wantsHtml } from './html/accept.ts'
import { errorPageReply } from './html/error-page.ts'

export const pagesSurface = (): Surface => {
  const renderError: Surface['renderError'] = (error, { request, requestId }) => {
    const headers = { 'x-request-id': requestId, vary: 'Accept' }
    if (wantsHtml(request)) return errorPageReply(error, request, headers)
    return json({ error: error.code, code: error.status, message: error.message }, { status: error.status, headers })
  }
  return {
    decoding: 'segments',
    headers: { 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' },
    renderError,
    unmatched: (request, methods) =>
      renderError(
        methods.length > 0
          ? fail('method_not_allowed', { reason: `use ${methods.join(' or ')}` })
          : fail('route_not_found', { method: request.method, path: request.rawPath }),
        { request, requestId: '' },
      ),
    logRequests: true,
  }
}
