/**
 * The document of a sandbox with what the gateway answers before the daemon does: every operation is asked through it. The document
 * itself says what the daemon answers, as it is the same where a daemon runs without a gateway.
 */
import { faceOf } from '../../shared/errors.ts'
import { gatewayFaces } from '../../shared/gateway-faces.ts'

interface Answer {
  content?: Record<string, { schema: object }>
}
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Answer> }>>
  components: { schemas: Record<string, object> }
}

const errorShape = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { enum: [...new Set(gatewayFaces.map(({ code }) => code))] },
        message: { type: 'string', minLength: 1 },
        status: { type: 'integer' },
        retryable: { type: 'boolean' },
        origin: { const: 'platform' },
        action: { type: 'string', minLength: 1 },
      },
      required: ['code', 'message', 'status', 'retryable', 'origin', 'action'],
    },
  },
  required: ['error'],
}

const schema = { $ref: '#/components/schemas/GatewayError' }

/** Failures of the sandbox and of its key; what fails behind the gateway (5xx) has no part in a run that goes well. */
const statuses = new Set(gatewayFaces.map(({ error }) => faceOf(error).status).filter(status => status < 500))

/** A head that is too large is answered by the parser, without a word. */
const headTooLarge = 431

const withGateway = ({ content, ...answer }: Answer): Answer => {
  const own = content?.['application/json']?.schema
  const both = own ? { anyOf: [own, schema] } : schema
  return { ...answer, content: { ...content, 'application/json': { schema: both }, 'text/html': { schema: {} } } }
}

export const withGatewayAnswers = (text: string): string => {
  const document = JSON.parse(text) as Document
  document.components.schemas['GatewayError'] = errorShape
  for (const { responses } of Object.values(document.paths).flatMap(path => Object.values(path))) {
    for (const status of statuses) responses[status] = withGateway(responses[status] ?? {})
    responses[headTooLarge] ??= {}
  }
  return JSON.stringify(document)
}
