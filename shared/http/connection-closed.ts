/**
 * The abort reason of every request's signal. One object for all, because every request ends with it, and the
 * DOMException with a stack that `abort()` makes by default costs more than matching a route.
 */
export const connectionClosed: Error = Object.assign(new Error('the connection is closed'), {
  name: 'AbortError',
  code: 'ABORT_ERR',
})
