/**
 * The abort reason of a request whose client is gone. One object for all, because the DOMException with a stack that
 * `abort()` makes by default costs more than matching a route.
 */
export const connectionClosed: Error = Object.assign(new Error('the connection is closed'), {
  name: 'AbortError',
  code: 'ABORT_ERR',
})
