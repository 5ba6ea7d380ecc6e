/** What the local proxy was configured with, for the next daemon, which finds the variables already changed. */
import { lstatSync } from 'node:fs'
import { s } from '../../shared/schema.ts'
import { readRegularFile } from '../config/read-regular-file.ts'
import { document } from '../config/read.ts'
import { proxyVariables } from './template.ts'
import { replaceFile } from '../own-files/own-files.ts'
import type { Seal } from '../own-files/seal.ts'

const shape = s.object({
  version: s.literal(2),
  port: s.int().check(s.minimum(1), s.maximum(65_535)),
  templates: s.record(s.string(), s.string()),
})

export interface ShimState {
  readonly port: number
  /** By the name of the variable. */
  readonly templates: Readonly<Record<string, string>>
}

export const saveState = (path: string, state: ShimState, seal: Seal): void =>
  replaceFile(path, `${seal.close(JSON.stringify({ version: 2, ...state }, null, 2))}\n`, 0o600)

/** The saved state; undefined when there is none, or it is not valid or not the daemon's. */
export const loadState = (path: string, seal: Seal): ShimState | undefined => {
  let text: string
  try {
    // The state names files that the daemon reads for others: only the daemon's user may have written it.
    const { uid, mode } = lstatSync(path)
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0) return undefined
    text = readRegularFile(path).toString('utf8')
  } catch {
    // Missing, or not a regular file any more: there is nothing to restore.
    return undefined
  }
  if (!seal.holds(text.trimEnd())) return undefined
  const found = document(shape, text)
  if (!found) return undefined
  const names: readonly string[] = proxyVariables
  const templates = Object.fromEntries(Object.entries(found.templates).filter(([name]) => names.includes(name)))
  return Object.keys(templates).length > 0 ? { port: found.port, templates } : undefined
}
