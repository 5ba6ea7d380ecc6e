/** Headers by which the gateway says who calls. They are believed where only the gateway can have set them. */
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import type { Request } from '../../shared/route.ts'
import type { WireNames } from '../../shared/wire-names.ts'
import type { Connections } from './connections.ts'

const suffixes = ['subject-id', 'subject-type', 'auth-method'] as const

/** The dispatcher for requests whose identity headers are taken away unless their connection is the channel's. */
export const dropIdentity = (
  inner: Dispatcher,
  { callerOf }: Pick<Connections, 'callerOf'>,
  names: WireNames,
): Dispatcher => {
  const dropped = new Set(['x-subject-id', 'x-subject-type', 'x-request-id', ...suffixes.flatMap(names.header)])
  // What the request makes only when it is asked for, as its body, it still makes then.
  const anonymous = (request: Request): Request => {
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !dropped.has(name)))
    return Object.create(request, { headers: { value: headers } }) as Request
  }
  return {
    bounds: inner.bounds,
    dispatch: (request, client) =>
      inner.dispatch(callerOf(request) === 'tenant' ? anonymous(request) : request, client),
  }
}
