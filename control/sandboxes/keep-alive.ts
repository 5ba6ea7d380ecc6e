import { createClient } from '../../shared/http/client/index.ts'
import { activity } from '../../shared/wire/system.ts'
import { internalOf } from '../reconcile/record.ts'
import type { Store } from '../store/store.ts'

/** An answer is a few numbers. */
const bounds = { timeoutMs: 2_000, maxBytes: 64 * 1024 }

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
    const daemon = createClient({ api: 'sandbox', baseUrl: `http://${address.host}:${address.port}`, ...bounds })
    try {
      return (await daemon.ask(activity)).keepAlive
    } finally {
      await daemon.close()
    }
  }
