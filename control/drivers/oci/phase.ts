/** What a machine is just now, from the box itself. */
import type { Machine } from '../driver.ts'
import { isFrozen } from './cgroup/freezer.ts'
import { isPopulated } from './cgroup/processes.ts'
import { groupOf, type Context } from './context.ts'
import { filesOf } from './layout.ts'
import { isImageGone } from './image-files.ts'
import { readMarkerNow, type Marker } from './marker.ts'

/** Where a daemon answers. */
export const addressOf = (id: string, { address, port, channel }: Marker): NonNullable<Machine['address']> => ({
  host: address,
  port,
  ...(channel ? { channel: { ...channel, machine: id } } : {}),
})

/** A machine whose daemon never answered is half-made, whatever else there is of it. */
export const lookAt = async (context: Context, id: string): Promise<Machine> => {
  const { hierarchy, names, dataDir } = context
  // Of all machines every few seconds: a twelfth of the processor time that a thread's answer takes.
  const marker = readMarkerNow(filesOf(dataDir, id).marker)
  if (!marker?.ready) return { id, phase: 'half-made' }
  const group = groupOf(names, id)
  if (!(await isPopulated(hierarchy, group))) return { id, phase: 'stopped' }
  const address = addressOf(id, marker)
  const phase = (await isFrozen(hierarchy, group)) ? 'frozen' : 'running'
  return { id, phase, ...(isImageGone(marker) ? { rootGone: true } : {}), address }
}
