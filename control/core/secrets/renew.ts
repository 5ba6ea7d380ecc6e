/** Everything of a host that is sealed, sealed anew. */
import { join } from 'node:path'
import type { Ids } from '../../../shared/ids.ts'
import { readIfThere, writeDurably } from '../../base/durable.ts'
import type { Keyring } from './keyring.ts'
import type { Upkeep } from '../store/store.ts'

/** Files of the data directory with sealed values in their JSON. */
const files = ['egress-ca.json']
/** What seals look like. Whatever else does is opened by no key, and stays. */
const sealed = /"(v1\.[A-Za-z0-9_-]{38,})"/g

const renewIn = (text: string, renew: Keyring['renew']): { text: string; count: number } => {
  let count = 0
  const now = text.replace(sealed, (whole, value: string) => {
    const next = renew(value)
    if (next === undefined) return whole
    count++
    return `"${next}"`
  })
  return { text: now, count }
}

export const renewStored = async (
  deps: { dataDir: string; ids: Ids; upkeep: Pick<Upkeep, 'rewrite'> },
  renew: Keyring['renew'],
): Promise<number> => {
  const { dataDir, ids, upkeep } = deps
  let all = 0
  for (const name of files) {
    const path = join(dataDir, name)
    const { text, count } = renewIn((await readIfThere(path)) ?? '', renew)
    if (count > 0) await writeDurably(path, text, ids)
    all += count
  }
  await upkeep.rewrite(body => {
    const { text, count } = renewIn(body, renew)
    all += count
    return count > 0 ? text : undefined
  })
  return all
}
