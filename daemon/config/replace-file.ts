import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Replaces the file at `path` in one step; a link there is replaced and not followed. */
export const replaceFile = (path: string, content: string | Uint8Array, mode: number): void => {
  mkdirSync(dirname(path), { recursive: true })
  const next = `${path}.${process.pid}.tmp`
  rmSync(next, { force: true })
  writeFileSync(next, content, { flag: 'wx', mode })
  renameSync(next, path)
}
