import { request } from 'undici'
import type { IdMaps } from '../../shared/drives/provider.ts'
import { fail } from '../../shared/errors.ts'
import type { Address } from '../store/store.ts'

const boundMs = 10_000
const id = /^\d{1,10}$/

const idOf = (value: unknown): string =>
  typeof value === 'string' && id.test(value) && Number(value) < 4_294_967_295 ? value : ''

/**
 * Asks a sandbox's daemon whom drives should belong to there. Whatever it says, it is only about what that sandbox sees:
 * other sandboxes and the disk know the drive's owner. Throws `busy` when it does not answer.
 */
export const driveOwnerOf = async (sandbox: string, { host, port }: Address): Promise<IdMaps> => {
  try {
    const { body } = await request(`http://${host}:${port}/system/activity`, {
      headersTimeout: boundMs,
      bodyTimeout: boundMs,
    })
    const { drives } = (await body.json()) as { drives?: { uidMap?: unknown; gidMap?: unknown } }
    return { uidMap: idOf(drives?.uidMap), gidMap: idOf(drives?.gidMap) }
  } catch (error) {
    throw fail('busy', { what: `sandbox "${sandbox}" does not say whom drives belong to`, next: 'try again' }, error)
  }
}
