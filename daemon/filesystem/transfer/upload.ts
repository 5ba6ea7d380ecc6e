/** PUT of a form or of raw bytes. */
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Request } from '../../../shared/route.ts'
import type { BodyDetacher } from '../../node-internals/detach-body.ts'
import { readForm } from './form.ts'
import { writeBody } from './receive-content.ts'
import { parseMode } from '../mode.ts'
import type { FilePort } from '../port.ts'
import { discard } from './consume.ts'
import { replaceFile, writeInPlace } from '../write.ts'

interface UploadDeps {
  readonly port: FilePort
  readonly ids: Ids
  readonly detacher: BodyDetacher
}

const drainLimit = 64 * 1024 * 1024
const fieldLimit = 64 * 1024

/**
 * The part `file` is the content, only the first one; `permissions` affects a file that comes after it. Clients
 * send `file` first and further fields after it, so the parts are taken as they come, and later fields are tolerated.
 */
export const uploadForm = async ({ port, detacher }: UploadDeps, path: string, request: Request): Promise<void> => {
  let mode = 0o644
  let found = false
  await readForm(
    request,
    {
      field(name, value) {
        if (name === 'permissions') mode = parseMode(value, 0o644)
      },
      file(name) {
        if (name !== 'file' || found) return undefined
        found = true
        return content => writeInPlace(port, path, mode, fd => content.writeTo(fd, 0, Infinity).then(() => {}))
      },
    },
    { fieldLimit, detacher },
  )
  if (!found) throw fail('invalid_argument', { field: 'file', reason: 'the form has no part of this name with a file' })
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
    return await replaceFile(deps, path, { mode, fresh: 0o644 }, fd => writeBody(deps.detacher, request.body, fd))
  } catch (error) {
    await discard(request.body, drainLimit)
    throw error
  }
}
