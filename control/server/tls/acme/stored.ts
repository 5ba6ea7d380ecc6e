/** Certificates that were ordered, in files: a file each, its key sealed. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import { writeDurably } from '../../../base/durable.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import { pairOf, type Pair } from '../pairs.ts'
import type { Ordered } from './order.ts'

export interface Stored {
  readonly pairs: Map<string, Pair>
  keep(name: string, ordered: Ordered): Promise<void>
  remove(name: string): Promise<void>
}

const fileOf = (dir: string, name: string): string =>
  join(dir, `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.json`)

export const openStored = async (
  dir: string,
  { sealer, ids, log }: { readonly sealer: Sealer; readonly ids: Ids; readonly log: Log },
): Promise<Stored> => {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const pairs = new Map<string, Pair>()
  for (const file of (await readdir(dir)).filter(one => /^[0-9a-f]{32}\.json$/.test(one)))
    try {
      const { name, cert, key } = JSON.parse(await readFile(join(dir, file), 'utf8')) as Ordered & { name: string }
      pairs.set(name, pairOf(cert, sealer.open(key)))
    } catch (error) {
      // It is ordered again.
      log.warn('acme.certificate_unreadable', { file, error })
    }
  return {
    pairs,
    async keep(name, { cert, key }) {
      await writeDurably(fileOf(dir, name), JSON.stringify({ name, cert, key: sealer.seal(key) }), ids)
      pairs.set(name, pairOf(cert, key))
    },
    async remove(name) {
      pairs.delete(name)
      await rm(fileOf(dir, name), { force: true })
    },
  }
}
