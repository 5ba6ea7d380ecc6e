/** A host that takes no new sandboxes: a file in its data directory says so, to a server that runs and to the next one. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const drainFile = (dataDir: string): string => join(dataDir, 'draining')

/** Looked at each time: costs some microseconds, and nobody has to be told. */
export const drainOf = (dataDir: string) => {
  const path = drainFile(dataDir)
  return (): boolean => existsSync(path)
}
