import { check, lazy, loadAddon } from '../load.ts'

interface HmacAddon {
  hmac(key: Buffer, bytes: Buffer, out: Buffer): number
}

const addon = lazy(() => loadAddon<HmacAddon>('hmac'))

/** HMAC-SHA256, 32 bytes. */
export const hmacSha256 = (key: Buffer, bytes: Buffer): Buffer => {
  const out = Buffer.alloc(32)
  check('hmac', addon().hmac(key, bytes, out))
  return out
}
