import type { IdMaps } from '../../../../shared/drives/provider.ts'
import { fail } from '../../../../shared/errors.ts'
import { activity } from '../../../../shared/wire/system.ts'
import { daemonAt } from '../../channel/client.ts'
import type { Connections } from '../../channel/connections.ts'
import type { Address } from '../../store/store.ts'

const bounds = { timeoutMs: 10_000, maxBytes: 64 * 1024 }
const id = /^\d{1,10}$/

const idOf = (value: string): string => (id.test(value) && Number(value) < 4_294_967_295 ? value : '')

/**
 * Asks a sandbox's daemon whom drives should belong to there. Whatever it says, it is only about what that sandbox sees:
 * other sandboxes and the disk know the drive's owner. Throws `busy` when it does not answer.
 */
export const driveOwnerOf = async (connections: Connections, sandbox: string, address: Address): Promise<IdMaps> => {
  try {
    const { drives } = await daemonAt(connections, address, 'host', bounds).ask(activity)
    return { uidMap: idOf(drives.uidMap), gidMap: idOf(drives.gidMap) }
  } catch (error) {
    throw fail('busy', { what: `sandbox "${sandbox}" does not say whom drives belong to`, next: 'try again' }, error)
  }
}
