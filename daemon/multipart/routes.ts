/** Binds the routes of uploads in parts. */
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import { parseJson, bodyOf } from '../../shared/http/body.ts'
import type { Ids } from '../../shared/ids.ts'
import { handle, type Bound, type Request } from '../../shared/route.ts'
import * as wire from '../../shared/wire/multipart.ts'
import { asOperationFailed } from '../filesystem/failures.ts'
import { parseMode } from '../filesystem/mode.ts'
import type { FilePort } from '../filesystem/port.ts'
import { discard } from '../filesystem/transfer/consume.ts'
import type { WholeFiles } from '../filesystem/whole/whole.ts'
import type { BodyDetacher } from '../node-internals/detach-body.ts'
import type { Paths } from '../paths.ts'
import { assemble, chosenParts } from './assemble.ts'
import type { Part } from './layout.ts'
import { receivePart } from './receive.ts'
import type { Upload, Uploads } from './uploads.ts'

const maxPart = 10_000
/** Bytes of a refused part that are still read, so that the client sees the answer. */
const drainLimit = 64 * 1024 * 1024

const shown = ({ number, etag, size, uploadedAt }: Part) => ({ partNumber: number, etag, size, uploadedAt })

const sorted = (upload: Upload) => [...upload.parts.values()].sort((a, b) => a.number - b.number).map(shown)

/** The permissions in an optional body; a body that is no JSON object counts as absent, which clients rely on. */
const wantedMode = async (request: Request): Promise<number> => {
  const bytes = await bodyOf(request, wire.initiateUpload.bodyLimit)
  let body: unknown
  try {
    body = parseJson(bytes)
  } catch {
    return 0o644
  }
  const permissions = typeof body === 'object' && body !== null && 'permissions' in body ? body.permissions : undefined
  return parseMode(typeof permissions === 'string' ? permissions : undefined, 0o644)
}

const partNumberOf = (text: string | undefined): number => {
  if (text === undefined || !/^[+-]?\d{1,15}$/.test(text))
    throw fail('invalid_argument', { field: 'partNumber', reason: 'must be an integer' })
  const number = Number(text)
  if (number < 1 || number > maxPart)
    throw fail('operation_failed', { reason: `partNumber must be between 1 and ${maxPart}` })
  return number
}

/** Runs `work`; a system error becomes 500. */
const orOperationFailed = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw asOperationFailed(error)
  }
}

interface MultipartDeps {
  readonly uploads: Uploads
  readonly paths: Paths
  readonly port: FilePort
  readonly whole: WholeFiles
  readonly ids: Ids
  readonly clock: Clock
  readonly detacher: BodyDetacher
}

const existing = async ({ uploads }: MultipartDeps, uploadId: string): Promise<Upload> => {
  const upload = await uploads.find(uploadId)
  if (!upload || upload.closing) throw fail('not_found', { kind: 'upload', name: uploadId })
  return upload
}

const shownUpload = (upload: Upload) => ({
  uploadId: upload.header.uploadId,
  path: upload.header.path,
  permissions: upload.header.mode,
  initiatedAt: upload.header.initiatedAt,
  parts: Object.fromEntries(sorted(upload).map(part => [String(part.partNumber), part])),
})

const takePart = async (deps: MultipartDeps, uploadId: string, partNumber: string | undefined, request: Request) => {
  try {
    const number = partNumberOf(partNumber)
    const upload = await deps.uploads.find(uploadId)
    if (!upload || upload.closing) throw fail('operation_failed', { reason: `upload "${uploadId}" not found` })
    const { etag, size } = await orOperationFailed(() => receivePart(upload, number, request, deps))
    return { partNumber: number, etag, size }
  } catch (error) {
    await discard(request.body, drainLimit)
    throw error
  }
}

const complete = async (deps: MultipartDeps, uploadId: string, listed: Parameters<typeof chosenParts>[1]) => {
  const upload = await existing(deps, uploadId)
  const parts = chosenParts(upload, listed)
  upload.closing = true
  try {
    await orOperationFailed(() => assemble(upload, parts, deps))
  } catch (error) {
    upload.closing = false
    throw error
  }
  await orOperationFailed(() => deps.uploads.remove(upload))
  return { path: upload.header.path, message: 'Multipart upload completed successfully' }
}

export const multipartRoutes = (deps: MultipartDeps): Bound[] => {
  const { uploads, paths } = deps
  return [
    handle(wire.listUploads, async () => ({ uploads: (await uploads.all()).map(shownUpload) })),
    handle(wire.initiateUpload, async ({ params }, { request }) => {
      const path = paths.absolute(paths.requested(request.rawPath, params.path))
      const { header } = await uploads.initiate(path, await wantedMode(request))
      return { uploadId: header.uploadId, path }
    }),
    handle(wire.uploadPart, ({ params, query }, { request }) =>
      takePart(deps, params.uploadId, query.partNumber, request),
    ),
    handle(wire.completeUpload, ({ params, body }) => complete(deps, params.uploadId, body.parts)),
    handle(wire.abortUpload, async ({ params }) => {
      const upload = await existing(deps, params.uploadId)
      await orOperationFailed(() => uploads.remove(upload))
      return { path: '', message: 'Multipart upload aborted successfully' }
    }),
    handle(wire.listParts, async ({ params }) => ({
      uploadId: params.uploadId,
      parts: sorted(await existing(deps, params.uploadId)),
    })),
  ]
}
