/** PUT /filesystem/{path}: the Content-Type decides between a form, raw bytes and JSON. */
import { parseJson, bodyOf } from '../../../shared/http/body.ts'
import type { Request } from '../../../shared/route.ts'
import { parse } from '../../../shared/schema.ts'
import { writePath, writeShape } from '../../../shared/wire/filesystem.ts'
import { asUnprocessable } from '../failures.ts'
import type { BodyDetacher } from '../../node-internals/detach-body.ts'
import type { Files } from '../files.ts'
import { parseMode } from '../mode.ts'

export interface Put {
  readonly path: string
  /** The query's `permissions`, for raw bytes, which have no other place for it. */
  readonly permissions: string | undefined
  readonly request: Request
}

export interface PutDeps {
  readonly files: Files
  readonly detacher: BodyDetacher
}

const putJson = async (files: Files, { path, request }: Put): Promise<string> => {
  const {
    content = '',
    isDirectory = false,
    permissions,
  } = parse(writeShape, parseJson(await bodyOf(request, writePath.bodyLimit)), 'body')
  if (isDirectory) {
    await files.makeDirectory(path, parseMode(permissions, 0o755))
    return 'Directory created successfully'
  }
  await files.write(path, content, parseMode(permissions, 0o644))
  return 'File written successfully'
}

/** Writes the file or directory; answers the message. Throws `invalid_argument`, `invalid_body`, `unprocessable`. */
export const put = async (deps: PutDeps, given: Put): Promise<string> => {
  const { files, detacher } = deps
  const type = String(given.request.headers['content-type'] ?? '').toLowerCase()
  if (!type.startsWith('multipart/form-data') && !type.startsWith('application/octet-stream'))
    return putJson(files, given)
  // Loaded when first needed: a sandbox that only runs commands does not need the form parser.
  const { uploadForm, uploadRaw } = await import('./upload.ts')
  try {
    if (type.startsWith('multipart/form-data'))
      await uploadForm({ whole: files.whole, detacher }, given.path, given.request)
    else await uploadRaw({ whole: files.whole, detacher }, given.path, given.request, given.permissions)
  } catch (error) {
    throw asUnprocessable(error)
  }
  return 'Binary file uploaded successfully'
}
