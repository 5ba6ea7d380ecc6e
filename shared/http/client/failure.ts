/** An answer that is a failure, as the error of ours that it stands for. */
import { errors, reported, type AppError, type ErrorCode } from '../../errors.ts'
import { gatewayFaces } from '../../gateway-faces.ts'
import type { AnyRoute } from './input.ts'

/** What a status means where nothing says more. */
const byStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'wrong_state',
  413: 'payload_too_large',
  415: 'unsupported_encoding',
  422: 'unprocessable',
  426: 'upgrade_required',
  429: 'busy',
  500: 'operation_failed',
  502: 'unavailable',
  503: 'unavailable',
  504: 'timed_out',
}

const meaningOf = (status: number): ErrorCode =>
  byStatus[status] ?? (status >= 500 ? 'operation_failed' : 'unprocessable')

const isCode = (name: string): name is ErrorCode => Object.hasOwn(errors, name)

interface Reported {
  /** The code, where the answer names one of ours. */
  readonly code?: ErrorCode
  readonly message: string
}

/** Failures that trying again does not help, by the words in which the gateway says one that it does help as well. */
const finals: ReadonlyMap<string, ErrorCode> = new Map(
  gatewayFaces
    .filter(({ code, retry }) => !retry && gatewayFaces.some(other => other.retry && other.code === code))
    .map(({ code, error }) => [code, error]),
)

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * Reads the three shapes of a failure: a sandbox's `{error: message}`, the management API's `{error: code, message}` and the
 * gateway's `{error: {code, message, retryable}}`. Anything else is its own message.
 */
const read = (status: number, text: string): Reported => {
  const plain = { message: text.trim() || `answered ${status}` }
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    // Not JSON: the text itself says what is wrong.
    return plain
  }
  const { error, message } = (body ?? {}) as { error?: unknown; message?: unknown }
  if (isText(error) && isText(message)) {
    const name = error.toLowerCase()
    return isCode(name) ? { code: name, message } : { message }
  }
  if (isText(error)) return { message: error }
  const { code, message: said, retryable } = (error ?? {}) as Readonly<Record<string, unknown>>
  if (!isText(said)) return plain
  const final = retryable === false ? finals.get(String(code)) : undefined
  if (final) return { code: final, message: said }
  // The platform speaks, not the route: a workload that cannot be reached now is 404 there, and may be asked again.
  const meant = meaningOf(status)
  return { code: retryable === true && !errors[meant].retry ? 'unavailable' : meant, message: said }
}

/** The error of ours: the one that is named, else one of the route's with that status, else what the status means. */
export const failureOf = ({ errors: declared }: Pick<AnyRoute, 'errors'>, status: number, text: string): AppError => {
  const { code, message } = read(status, text)
  const likely = declared.find(one => errors[one].status === status)
  return reported(code ?? likely ?? meaningOf(status), message)
}
