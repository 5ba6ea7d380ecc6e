import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../own-files/own-files.ts'

/**
 * A file that records that this sandbox has had a tunnel, so that a daemon or sandbox that starts again lets nothing
 * out before a tunnel is up. No key is ever written to disk.
 */
const markerPath = (stateDir: string): string => join(stateDir, 'tunnel')

export const wasConfigured = (stateDir: string): boolean => existsSync(markerPath(stateDir))

export const markConfigured = (stateDir: string): void => replaceFile(markerPath(stateDir), '', 0o600)
