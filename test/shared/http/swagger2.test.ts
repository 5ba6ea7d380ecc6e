import t from 'tap'
import { schemaOf, swagger2 } from '../../../shared/http/swagger2.ts'
import { openApi } from '../../../shared/http/openapi.ts'
import { uploadPart } from '../../../shared/wire/multipart.ts'
import { writePath } from '../../../shared/wire/filesystem.ts'

t.test('what Swagger 2.0 cannot say is said as near as it can', async t => {
  t.same(schemaOf({ type: 'string', const: 'ok' }), { type: 'string', enum: ['ok'] })
  t.same(schemaOf({ anyOf: [{ type: 'integer' }, { type: 'null' }] }), { type: 'integer', 'x-nullable': true })
  t.same(schemaOf({ anyOf: [{ type: 'integer' }, { type: 'string' }] }), {})
  t.same(schemaOf({ type: ['string', 'null'], maxLength: 3 }), { type: 'string', maxLength: 3, 'x-nullable': true })
  t.same(schemaOf({ $ref: '#/components/schemas/Error' }), { $ref: '#/definitions/Error' })
  t.same(schemaOf({ type: 'object', propertyNames: {}, additionalProperties: { const: 1 } }), {
    type: 'object',
    additionalProperties: { enum: [1] },
  })
  t.same(
    schemaOf({ type: 'object', properties: { type: { const: 'a' }, list: { type: 'array', items: { const: 1 } } } }),
    { type: 'object', properties: { type: { enum: ['a'] }, list: { type: 'array', items: { enum: [1] } } } },
    'a property may be called like a keyword',
  )
})

t.test('a form is a form: its fields are parameters, its file is one', async t => {
  const routes = [uploadPart, writePath] as never
  const document = openApi(routes, {
    title: 't',
    version: '1',
    credential: { headers: [], optional: true },
    texts: {},
    families: {},
  })
  const types = Object.keys(document.paths['/filesystem/{path}']?.['put']?.requestBody?.content ?? {})
  t.same(types, ['application/json', 'multipart/form-data', 'application/octet-stream'])
  const told = swagger2(document, { basePath: '/', schemes: ['http'] }) as never as {
    paths: Record<string, Record<string, { consumes: string[]; parameters: { name: string }[] }>>
  }
  const part = told.paths['/filesystem-multipart/{uploadId}/part']?.['put']
  t.same(part?.consumes, ['multipart/form-data'])
  t.match(
    part?.parameters.find(({ name }) => name === 'file'),
    { in: 'formData', type: 'file', required: true },
  )
})
