import { request } from 'undici'
import { internalOf } from './record.ts'
import type { Store } from '../store/store.ts'

const boundMs = 2_000

/**
 * Asks a sandbox's daemon how many keep-alive processes it runs. What a sandbox says is not trusted beyond this: it
 * can keep itself awake, at its own cost. Throws when the daemon does not answer within two seconds.
 */
export const keepAliveCount =
  (store: Store) =>
  async (uid: string): Promise<number> => {
    const row = await store.resources.getByUid(uid)
    const address = row && internalOf(row).address
    if (!address) return 0
    const { statusCode, body } = await request(`http://${address.host}:${address.port}/system/activity`, {
      headersTimeout: boundMs,
      bodyTimeout: boundMs,
    })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`the daemon answered ${statusCode}`)
    const { keepAlive } = JSON.parse(text) as { keepAlive: unknown }
    return typeof keepAlive === 'number' ? keepAlive : 0
  }
