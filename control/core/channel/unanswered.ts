/** What it means that a machine gave no answer: whether anything was sent, and what the caller is told. */
import { errno, fail, messageOf, type AppError } from '../../../shared/errors.ts'

/** Nobody accepted the connection, so that the request can be sent again whatever it is. */
const refusals: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])

export const isUnsent = (error: unknown): boolean =>
  refusals.has(errno(error)) || (error instanceof Error && error.cause !== undefined && isUnsent(error.cause))

/** The connection came about and ended before an answer. */
const cuts: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'UND_ERR_SOCKET'])
/** No connection came about in time: whoever listens there has too much to do to take it. */
const delays: ReadonlySet<string | undefined> = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'])

/** Whether nothing of an answer can have come. */
export const isRefused = (error: unknown): boolean => {
  const code = errno(error)
  return isUnsent(error) || cuts.has(code) || delays.has(code)
}

/** The workload gave no answer that could be passed on. */
export const upstreamFailed = (error: unknown, port: number): AppError => {
  const code = errno(error)
  if (isUnsent(error))
    return fail('upstream_failed', { reason: `nothing answers on port ${port} of the sandbox` }, error)
  if (delays.has(code)) {
    const reason = `what listens on port ${port} of the sandbox is busy: it took no connection in time`
    return fail('upstream_busy', { reason }, error)
  }
  if (!cuts.has(code)) return fail('upstream_malformed', { port, reason: messageOf(error) }, error)
  const reason = `nothing answers on port ${port} of the sandbox: the connection was closed before an answer`
  return fail('upstream_failed', { reason }, error)
}
