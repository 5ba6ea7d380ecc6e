/** What a failed connection to a provider means, in words. */
import { isError, messageOf } from '../../../shared/errors.ts'

const known: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be looked up just now',
  ECONNRESET: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  UND_ERR_CONNECT_TIMEOUT: 'it cannot be connected to in time',
  UND_ERR_HEADERS_TIMEOUT: 'it took too long to answer',
}

export const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (error instanceof Error && error.name === 'TimeoutError') return 'it took too long to answer'
  // Our own refusal of an address, which comes as the failure of a connection.
  if (error instanceof Error && isError(error.cause)) return messageOf(error.cause)
  const words = known[code]
  return words ? `it cannot be reached: ${words}` : messageOf(error)
}
