import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A file that records that this sandbox has had a tunnel, so that a daemon or sandbox that starts again lets nothing
 * out before a tunnel is up. No key is ever written to disk.
 */
const markerPath = (stateDir: string): string => join(stateDir, 'tunnel')

export const wasConfigured = (stateDir: string): boolean => existsSync(markerPath(stateDir))

export const markConfigured = (stateDir: string): void => {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  writeFileSync(markerPath(stateDir), '', { mode: 0o600 })
}
