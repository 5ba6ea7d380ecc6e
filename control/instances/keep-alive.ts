import { createClient } from '../../shared/http/client/index.ts'
import { activity } from '../../shared/wire/system.ts'
import type { Address } from '../store/store.ts'

/** An answer is a few numbers. */
const bounds = { timeoutMs: 2_000, maxBytes: 64 * 1024 }

/**
 * Asks a machine's daemon how many keep-alive processes it runs. What it says is not trusted beyond this: it can keep
 * itself awake, at its own cost. Throws when the daemon does not answer within two seconds.
 */
export const keepAliveCount = async ({ host, port }: Address): Promise<number> => {
  const daemon = createClient({ api: 'sandbox', baseUrl: `http://${host}:${port}`, ...bounds })
  try {
    return (await daemon.ask(activity)).keepAlive
  } finally {
    await daemon.close()
  }
}
