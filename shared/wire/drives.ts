/** Drives: directories that many sandboxes share, mounted while the sandbox runs. */
import { route } from '../route.ts'
import { s, text } from '../schema.ts'

/** The highest 32-bit number means nobody to the kernel. */
const id = s.nullish(
  text(10).check(
    s.regex(/^\d*$/, 'must be a decimal number'),
    s.refine(value => Number(value) < 4_294_967_295, 'must be at most 4294967294'),
  ),
)

export const driveMount = s.object({
  driveName: s.string(),
  mountPath: s.string(),
  drivePath: s.string(),
  readOnly: s.boolean(),
  uidMap: s.string(),
  gidMap: s.string(),
})

/** Mounting follows neither links nor dots, so `..` names nothing. */
const withoutDots = (value: string): boolean => !value.includes('..')

export const listMounts = route('GET /drives/mount', {
  id: 'drives.list',
  summary: 'Drives that are mounted',
  returns: s.object({ mounts: s.array(driveMount) }),
  errors: ['operation_failed'],
})

export const mountRequest = s.object({
  driveName: text(128).check(
    s.regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/, 'must be letters, digits, dashes and underscores, the first no dash'),
  ),
  mountPath: text(512).check(s.minLength(1, 'is required'), s.refine(withoutDots, 'must not contain ..')),
  drivePath: s.nullish(
    text(4096).check(
      s.refine(value => value === '' || value.startsWith('/'), 'must begin with /'),
      s.refine(withoutDots, 'must not contain ..'),
    ),
  ),
  readOnly: s.nullish(s.boolean()),
  uidMap: id,
  gidMap: id,
})

export const mountDrive = route('POST /drives/mount', {
  id: 'drives.mount',
  summary: 'Mounts a drive, or a directory of it; the same mount again is fine',
  body: mountRequest,
  bodyLimit: 64 * 1024,
  returns: s.extend(driveMount, { success: s.boolean(), message: s.string() }),
  errors: ['invalid_argument', 'invalid_body', 'not_found', 'wrong_state', 'operation_failed'],
})

export const unmountDrive = route('DELETE /drives/mount/*mountPath', {
  id: 'drives.unmount',
  summary: 'Takes a mounted drive away',
  params: s.object({ mountPath: text(512) }),
  returns: s.object({ success: s.boolean(), message: s.string(), mountPath: s.string() }),
  errors: ['invalid_argument', 'not_found', 'operation_failed'],
})
