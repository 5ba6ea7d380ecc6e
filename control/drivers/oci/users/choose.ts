/** Whether a machine has users of its own. */
import { existsSync } from 'node:fs'
import { fail } from '../../../../shared/errors.ts'
import type { Attempt } from '../boot.ts'
import type { Marker } from '../marker.ts'
import { strangerIn } from './layers.ts'

/**
 * The id of the box that root of the machine is to be; undefined where it has no users of its own. A new machine of an image
 * with files of users that cannot be in it is refused. One with files from before, when there were more users, goes on
 * without rather than losing them, unless the operator insists.
 */
export const chooseUsers = async (attempt: Attempt, earlier: Marker | undefined): Promise<number | undefined> => {
  const { context, spec, slot, files } = attempt
  if (slot.firstId === undefined || earlier?.firstId !== undefined) return slot.firstId
  const ofFiles = () => (existsSync(files.disk) ? strangerIn('upper', files.disk) : strangerIn(files.upper))
  const ofImage = await context.strangerInImage(spec.rootfs)
  const stranger = ofImage === undefined && earlier ? await ofFiles() : ofImage
  if (stranger === undefined) return slot.firstId
  if (!earlier || context.ownUsersRequired)
    throw fail('driver_failed', {
      driver: 'oci',
      step: ofImage === undefined ? 'files' : 'image',
      reason: `${stranger}; change its owner, or set HUTCH_USER_NAMESPACES=off`,
    })
  context.log.warn('users.shared', { machine: spec.id, reason: stranger, next: 'root of it is root of the box' })
  return undefined
}
