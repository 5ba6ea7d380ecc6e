import { request } from 'undici'
import type { Address } from '../store/store.ts'

const boundMs = 2_000

/**
 * Asks a machine's daemon how many keep-alive processes it runs. What it says is not trusted beyond this: it can keep
 * itself awake, at its own cost. Throws when the daemon does not answer within two seconds.
 */
export const keepAliveCount = async ({ host, port }: Address): Promise<number> => {
  const { statusCode, body } = await request(`http://${host}:${port}/system/activity`, {
    headersTimeout: boundMs,
    bodyTimeout: boundMs,
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`the daemon answered ${statusCode}`)
  const { keepAlive } = JSON.parse(text) as { keepAlive: unknown }
  return typeof keepAlive === 'number' ? keepAlive : 0
}
