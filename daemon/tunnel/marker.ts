import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A file that says that a tunnel was configured in this sandbox once, so that a daemon or a whole sandbox that starts
 * again lets nothing out before there is one. No key is ever on the disk.
 */
const markerPath = (stateDir: string): string => join(stateDir, 'tunnel')

export const isMarked = (stateDir: string): boolean => existsSync(markerPath(stateDir))

export const mark = (stateDir: string): void => {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  writeFileSync(markerPath(stateDir), '', { mode: 0o600 })
}
