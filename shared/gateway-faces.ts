/** What the gateway may say. */
import { errors, type ErrorCode, type GatewayFace } from './errors.ts'

interface Faced {
  readonly retry: boolean
  readonly gateway?: GatewayFace
}

/** Every error that the gateway has words of its own for. */
export const gatewayFaces = (Object.keys(errors) as ErrorCode[]).flatMap(error => {
  const { gateway, retry } = errors[error] as Faced
  return gateway ? [{ error, code: gateway.code, retry }] : []
})
