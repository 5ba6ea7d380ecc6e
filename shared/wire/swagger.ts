/** The API's own documentation. */
import { route } from '../route.ts'
import { s } from '../schema.ts'

export const swaggerRoot = route('GET /swagger', {
  id: 'swagger.root',
  summary: 'Leads to the documentation page',
  open: true,
  statuses: { 301: 'To /swagger/index.html' },
})

export const swaggerFile = route('GET /swagger/*file', {
  id: 'swagger.file',
  summary: 'The documentation page, and the documents it shows: doc.json (Swagger 2.0) and openapi.json (OpenAPI 3.1)',
  params: s.object({ file: s.string() }),
  returns: s.looseObject({}),
  produces: ['text/html'],
  // The page says nothing of the sandbox; its documents are for who may use it.
  document: { security: [{ bearer: [] }, {}] },
  errors: ['not_found'],
})
