/** Translates OpenAPI 3.1 to Swagger 2.0, which existing tools read from /swagger/doc.json. */
import type { OpenApi, Operation, Parameter } from './openapi.ts'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

// The keywords of JSON Schema that Swagger 2.0 has.
const known = new Set(
  (
    'type format title description default multipleOf maximum minimum maxLength minLength pattern maxItems minItems ' +
    'uniqueItems maxProperties minProperties required enum items allOf properties additionalProperties $ref'
  ).split(' '),
)

const isNull = (schema: Json): boolean => schema['type'] === 'null'

/** Swagger can name only one of several shapes: the one that is not null, with null as an extension. */
const oneOf = (options: readonly Json[]): Json => {
  const rest = options.filter(option => !isNull(option))
  const first = rest.length === 1 ? schemaOf(rest[0] as Json) : {}
  return rest.length < options.length ? { ...first, 'x-nullable': true } : first
}

const keyword = (key: string, value: unknown): unknown => {
  if (key === 'properties' && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, schemaOf(schema as Json)]))
  if (key === 'allOf' && Array.isArray(value)) return value.map(schemaOf)
  if ((key === 'items' || key === 'additionalProperties') && isObject(value)) return schemaOf(value)
  if (key === '$ref' && typeof value === 'string') return value.replace('#/components/schemas/', '#/definitions/')
  return value
}

/** A JSON Schema in Swagger's dialect, without the keywords that it lacks. */
export const schemaOf = (schema: Json): Json => {
  const options = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined
  const own: Json = {}
  for (const [key, value] of Object.entries(schema)) if (known.has(key)) own[key] = keyword(key, value)
  if (Array.isArray(own['type'])) {
    const types = (own['type'] as string[]).filter(type => type !== 'null')
    if (types.length < (own['type'] as string[]).length) own['x-nullable'] = true
    own['type'] = types[0]
  }
  if ('const' in schema) own['enum'] = [schema['const']]
  if (Array.isArray(schema['examples'])) own['example'] = schema['examples'][0]
  return options ? { ...own, ...oneOf(options) } : own
}

const parameterOf = ({ name, in: where, required, description, schema }: Parameter): Json => {
  const { type = 'string', example, ...rest } = schemaOf(schema)
  return {
    name,
    in: where,
    required,
    type,
    ...rest,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { 'x-example': example }),
  }
}

/** Fields of a form are parameters here, a file has a type of its own. */
const fieldsOf = (schema: Json): Json[] =>
  Object.entries((schema['properties'] ?? {}) as Record<string, Json>).map(([name, { type, format }]) => ({
    name,
    in: 'formData',
    required: ((schema['required'] ?? []) as string[]).includes(name),
    type: format === 'binary' ? 'file' : type,
  }))

const operationOf = (operation: Operation): Json => {
  const { operationId, summary, tags, parameters, requestBody, responses } = operation
  const [consumes, body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const isForm = consumes === 'multipart/form-data'
  const produces = new Set(Object.values(responses).flatMap(({ content }) => Object.keys(content ?? {})))
  return {
    operationId,
    summary,
    tags,
    ...(consumes ? { consumes: [consumes] } : {}),
    produces: [...produces],
    parameters: [
      ...parameters.map(parameterOf),
      ...(isForm ? fieldsOf(body?.schema ?? {}) : []),
      ...(body && !isForm
        ? [{ name: 'body', in: 'body', required: requestBody?.required, schema: schemaOf(body.schema) }]
        : []),
    ],
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, { description, content }]) => {
        const schema = content?.['application/json']?.schema
        return [status, { description, ...(schema ? { schema: schemaOf(schema) } : {}) }]
      }),
    ),
  }
}

export interface Where {
  readonly host?: string
  readonly basePath: string
  readonly schemes: readonly string[]
}

/** The whole document; `where` is the address of the API. */
export const swagger2 = (document: OpenApi, where: Where): Json => ({
  swagger: '2.0',
  info: { ...document.info, license: { name: 'MIT' } },
  ...where,
  tags: document.tags,
  paths: Object.fromEntries(
    Object.entries(document.paths).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, one]) => [method, operationOf(one)])),
    ]),
  ),
  definitions: Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, schemaOf(schema)]),
  ),
  securityDefinitions: { BearerAuth: { type: 'apiKey', name: 'Authorization', in: 'header' } },
  security: [{ BearerAuth: [] }],
})
