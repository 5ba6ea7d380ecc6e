/** PUT of a form or of raw bytes. */
import { fail } from '../../../shared/errors.ts'
import type { Request } from '../../../shared/route.ts'
import type { BodyDetacher } from '../../node-internals/detach-body.ts'
import { readForm } from './form.ts'
import { writeBody } from './receive-content.ts'
import { parseMode } from '../mode.ts'
import type { Staged, WholeFiles } from '../whole/whole.ts'
import { discard } from './consume.ts'

interface UploadDeps {
  readonly whole: WholeFiles
  readonly detacher: BodyDetacher
}

const drainLimit = 64 * 1024 * 1024
const fieldLimit = 64 * 1024

/**
 * The part `file` is the content, only the first one; `permissions` affects a file that comes after it. Clients
 * send `file` first and further fields after it, so the parts are taken as they come, and later fields are tolerated.
 * The file changes once the whole form has come and is in order.
 */
export const uploadForm = async ({ whole, detacher }: UploadDeps, path: string, request: Request): Promise<void> => {
  let mode = 0o644
  let found = false
  const upload: { staged?: Staged } = {}
  try {
    await readForm(
      request,
      {
        field(name, value) {
          if (name === 'permissions') mode = parseMode(value, 0o644)
        },
        file(name) {
          if (name !== 'file' || found) return undefined
          found = true
          return async content => {
            upload.staged = await whole.stage(path, { fresh: mode, asProcess: true })
            await content.writeTo(upload.staged.fd, 0, Infinity)
          }
        },
      },
      { fieldLimit, detacher },
    )
  } catch (error) {
    await upload.staged?.discard()
    throw error
  }
  const { staged } = upload
  if (!staged)
    throw fail('invalid_argument', { field: 'file', reason: 'the form has no part of this name with a file' })
  await staged.publish()
}

/** The body is the content, which replaces the file in one step once it is whole. */
export const uploadRaw = async (
  deps: UploadDeps,
  path: string,
  request: Request,
  permissions: string | undefined,
): Promise<number> => {
  const mode = permissions ? parseMode(permissions, 0o644) : undefined
  try {
    return await deps.whole.replace(path, { mode, fresh: 0o644 }, fd => writeBody(deps.detacher, request.body, fd))
  } catch (error) {
    await discard(request.body, drainLimit)
    throw error
  }
}
