import t from 'tap'
import { schemaOf } from '../../../daemon/swagger/swagger2.ts'

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
