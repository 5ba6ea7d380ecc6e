/** The authority of this host for connections that are opened: made on the first start, its key sealed. */
import { join } from 'node:path'
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import { parse, s } from '../../../shared/schema.ts'
import { readOrCreate } from '../../base/durable.ts'
import { makeAuthorityKeys, type AuthorityKeys } from '../egress/ca/authority.ts'
import type { Sealer } from '../../core/secrets/secrets.ts'

const shape = s.object({ certificate: s.string(), sealedKey: s.string() })

const make = (sealer: Sealer, clock: Clock): string => {
  const { certificate, privateKey } = makeAuthorityKeys('Hutch outbound proxy', clock.now())
  return JSON.stringify({ certificate, sealedKey: sealer.seal(privateKey) })
}

/** Removing the file makes a new authority at the next start; machines that run trust the old one until they are made anew. */
export const authorityOf = async (
  dataDir: string,
  deps: { sealer: Sealer; clock: Clock; ids: Ids },
): Promise<AuthorityKeys> => {
  const { sealer, clock, ids } = deps
  const file = join(dataDir, 'egress-ca.json')
  const text = await readOrCreate(file, () => make(sealer, clock), ids)
  try {
    const { certificate, sealedKey } = parse(shape, JSON.parse(text), 'config')
    return { certificate, privateKey: sealer.open(sealedKey) }
  } catch (error) {
    throw fail('invalid_argument', {
      field: file,
      reason: `cannot be read (${messageOf(error)}); remove it and start again`,
    })
  }
}
