/**
 * Why the signal of a request is aborted: its connection is closed. One for all requests, because every one ends so,
 * and what `abort()` makes by itself (a DOMException with a stack) costs more than matching a route.
 */
export const connectionClosed: Error = Object.assign(new Error('the connection is closed'), {
  name: 'AbortError',
  code: 'ABORT_ERR',
})
