/** Questions of the host's own to a daemon. What answers may be a tenant's: it is bounded in time and bytes. */
import { fail } from '../../shared/errors.ts'
import type { Address } from '../store/store.ts'
import type { Connections } from './connections.ts'

const maxBytes = 64 * 1024

/** The JSON answer to `GET path`. Throws when there is none of status 200 within `boundMs`. */
export const askDaemon = async (
  connections: Connections,
  address: Address,
  { path, boundMs }: { readonly path: string; readonly boundMs: number },
): Promise<unknown> => {
  const signal = AbortSignal.timeout(boundMs)
  const { statusCode, body } = await connections.pool({ address }, 'host').request({ method: 'GET', path, signal })
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of body) {
    size += (piece as Buffer).length
    if (size > maxBytes) throw fail('operation_failed', { reason: `the daemon answered more than ${maxBytes} bytes` })
    pieces.push(piece as Buffer)
  }
  if (statusCode !== 200) throw fail('operation_failed', { reason: `the daemon answered ${statusCode}` })
  return JSON.parse(Buffer.concat(pieces).toString('utf8'))
}
