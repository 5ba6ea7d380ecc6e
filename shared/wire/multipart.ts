/** Uploads in parts: for files larger than one request may carry, in parallel, surviving a restart of the daemon. */
import { route } from '../route.ts'
import { s } from '../schema.ts'
import { successShape } from './file-shapes.ts'

const upload = s.object({ uploadId: s.string() })

export const partShape = s.object({
  partNumber: s.number(),
  /** Lower-case hexadecimal MD5 of the part. */
  etag: s.string(),
  size: s.number(),
  uploadedAt: s.string(),
})

export const uploadShape = s.object({
  uploadId: s.string(),
  path: s.string(),
  /** The mode as a decimal integer: 420 is 0644. */
  permissions: s.number(),
  initiatedAt: s.string(),
  parts: s.record(s.string(), partShape),
})

export const completeShape = s.object({
  parts: s
    .array(s.object({ partNumber: s.int(), etag: s.string() }))
    .check(s.minLength(1, 'must name at least one part')),
})

export const listUploads = route('GET /filesystem-multipart', {
  id: 'multipart.list',
  summary: 'List the uploads under way',
  returns: s.object({ uploads: s.array(uploadShape) }),
})

export const initiateUpload = route('POST /filesystem-multipart/initiate/*path', {
  id: 'multipart.initiate',
  summary: 'Begin an upload in parts',
  leadsTo: {
    'multipart.part': { uploadId: 'uploadId' },
    'multipart.parts': { uploadId: 'uploadId' },
    'multipart.complete': { uploadId: 'uploadId' },
    'multipart.abort': { uploadId: 'uploadId' },
  },
  params: s.object({ path: s.string() }),
  body: s.object({ permissions: s.optional(s.string()) }),
  // The body is optional and a malformed one is ignored, so the handler reads it.
  accepts: 'stream',
  bodyLimit: 1024 * 1024,
  document: {
    requestBody: {
      required: false,
      content: {
        'application/json': {
          schema: {
            properties: { permissions: { description: 'Octal text; anything that is no text counts as none' } },
          },
        },
      },
    },
  },
  returns: s.object({ uploadId: s.string(), path: s.string() }),
  errors: ['invalid_argument', 'operation_failed'],
})

export const uploadPart = route('PUT /filesystem-multipart/:uploadId/part', {
  id: 'multipart.part',
  summary: 'Send one part as the form field `file`; a number sent again replaces the part',
  params: upload,
  query: s.object({ partNumber: s.optional(s.string()) }),
  accepts: 'stream',
  form: [],
  returns: s.object({ partNumber: s.number(), etag: s.string(), size: s.number() }),
  errors: ['invalid_argument', 'invalid_body', 'operation_failed'],
})

export const completeUpload = route('POST /filesystem-multipart/:uploadId/complete', {
  id: 'multipart.complete',
  summary: 'Put the listed parts together as the file',
  params: upload,
  body: completeShape,
  returns: successShape,
  errors: ['invalid_body', 'not_found', 'operation_failed'],
})

export const abortUpload = route('DELETE /filesystem-multipart/:uploadId/abort', {
  id: 'multipart.abort',
  summary: 'Give an upload up and delete its parts',
  params: upload,
  returns: successShape,
  errors: ['not_found'],
})

export const listParts = route('GET /filesystem-multipart/:uploadId/parts', {
  id: 'multipart.parts',
  summary: 'List the parts of an upload',
  params: upload,
  returns: s.object({ uploadId: s.string(), parts: s.array(partShape) }),
  errors: ['not_found'],
})
