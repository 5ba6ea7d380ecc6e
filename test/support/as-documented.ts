/**
 * Holds answers to the OpenAPI document that their own API serves: the status is declared, the type of the body is, and the body is of
 * the schema. Every in-process call of either API in tests goes through here.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { templateOf, type OpenApi } from '../../shared/http/openapi.ts'
import type { Route } from '../../shared/route.ts'

/** An answer as far as a document speaks of it. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface Documented {
  /** What is not as the document has it; undefined when all is. */
  problemOf(route: Route, answer: Answered): string | undefined
  /** The same by the template of the path and the method in lower case. */
  problemAt(template: string, method: string, answer: Answered): string | undefined
}

/** The client is gone: nobody reads that status. */
const unread = 499

const escaped = (part: string): string => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))

const typeOf = ({ headers }: Answered): string => (headers['content-type'] ?? '').split(';')[0]?.trim() ?? ''

/** Errors are shown as pages to browsers, whatever the route. */
const isErrorPage = (answer: Answered): boolean => answer.status >= 400 && typeOf(answer) === 'text/html'

/** The bytes of a file that may be called JSON and be none. */
const isDownload = ({ headers }: Answered): boolean => headers['content-disposition'] !== undefined

export const documented = (document: OpenApi): Documented => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
  ajv.addSchema({ $id: 'document', ...document })
  const compiled = new Map<string, ValidateFunction>()
  const validatorOf = (place: string): ValidateFunction => {
    const known = compiled.get(place) ?? ajv.compile({ $ref: `document#/${place}` })
    compiled.set(place, known)
    return known
  }

  const bodyProblem = (answer: Answered, content: Readonly<Record<string, unknown>>, place: string) => {
    const type = typeOf(answer)
    if (!(type in content) && !('*/*' in content))
      return `a body of type "${type}", where ${Object.keys(content).join(' or ') || 'none'} is declared`
    if (type !== 'application/json' || isDownload(answer)) return undefined
    const validate = validatorOf(`${place}/content/${escaped(type)}/schema`)
    if (validate(JSON.parse(answer.text))) return undefined
    const [{ instancePath, message } = { instancePath: '', message: '' }] = validate.errors ?? []
    return `${instancePath || 'the body'} ${message}: ${answer.text.slice(0, 500)}`
  }

  const problemAt: Documented['problemAt'] = (path, method, answer) => {
    const operation = document.paths[path]?.[method]
    if (!operation || answer.status === unread || isErrorPage(answer)) return undefined
    const key = String(answer.status) in operation.responses ? String(answer.status) : 'default'
    const response = operation.responses[key]
    const said = `${operation.operationId} answers ${answer.status}`
    if (!response) return `${said}, which its document does not declare: ${answer.text.slice(0, 300)}`
    if (answer.text === '') return undefined
    const place = ['paths', escaped(path), method, 'responses', key].join('/')
    const problem = bodyProblem(answer, response.content ?? {}, place)
    return problem && `${said} with ${problem}`
  }
  return {
    problemAt,
    problemOf: ({ method, path }, answer) => problemAt(templateOf(path), method.toLowerCase(), answer),
  }
}
