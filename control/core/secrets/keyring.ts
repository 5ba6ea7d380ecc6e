/**
 * The key of a host's secrets, and how it is changed. The file `secret-key` has a key a line: the first seals, all of them open. Changing it
 * puts a new one in front, seals everything stored anew, and takes the old one out; what is killed on the way goes on where it was.
 */
import { join } from 'node:path'
import type { Ids } from '../../../shared/ids.ts'
import { readIfThere, readOrCreate, writeDurably } from '../../base/durable.ts'
import { createSealer, type Sealer } from './secrets.ts'

const keyFile = (dataDir: string): string => join(dataDir, 'secret-key')
const channelFile = (dataDir: string): string => join(dataDir, 'channel-key')

const linesOf = (text: string): readonly [string, ...string[]] =>
  text.split('\n').filter(line => line !== '') as [string, ...string[]]

export interface Keyring extends Sealer {
  /** Seals with that key from now on, which changes nothing when it does already. What was sealed with one of before is still opened, until this process ends. */
  lead(key: string): void
  /** Seals anew what is not sealed with the leading key; undefined when it is, and when it is nothing that any key opens. */
  renew(sealed: string): string | undefined
}

const createKeyring = (keys: readonly [string, ...string[]]): Keyring => {
  let [leading, ...others] = keys.map(createSealer) as [Sealer, ...Sealer[]]
  let [leadingKey] = keys
  const opened = (sealed: string, by: readonly Sealer[]): string | undefined => {
    for (const sealer of by)
      try {
        return sealer.open(sealed)
      } catch {
        // Under another one.
      }
    return undefined
  }
  return {
    seal: text => leading.seal(text),
    // Of what nothing opens, the leading key says what is wrong.
    open: sealed => opened(sealed, [leading, ...others]) ?? leading.open(sealed),
    lead(key) {
      if (key === leadingKey) return
      leadingKey = key
      others = [leading, ...others]
      leading = createSealer(key)
    },
    renew(sealed) {
      if (opened(sealed, [leading]) !== undefined) return undefined
      const text = opened(sealed, others)
      return text === undefined ? undefined : leading.seal(text)
    },
  }
}

export interface HostKeys {
  readonly keyring: Keyring
  /** What keys of channels and the like are computed from. Machines that run know theirs: it stays when the key of secrets changes. */
  readonly secret: string
}

/** The keys of this host, made on the first start and kept in the data directory, beside the database. */
export const openKeys = async (dataDir: string, ids: Ids): Promise<HostKeys> => {
  const keys = linesOf(await readOrCreate(keyFile(dataDir), () => ids.secret(32), ids))
  const secret = (await readIfThere(channelFile(dataDir))) ?? (keys.at(-1) as string)
  return { keyring: createKeyring(keys), secret }
}

export interface ChangeDeps {
  readonly dataDir: string
  readonly ids: Ids
  readonly keyring: Keyring
  /** Seals anew everything that is stored; resolves with how many values that were. */
  readonly renewAll: (renew: Keyring['renew']) => Promise<number>
}

/** Resolves with how many stored secrets were sealed anew. May be repeated after it was killed anywhere. */
export const changeKey = async ({ dataDir, ids, keyring, renewAll }: ChangeDeps): Promise<number> => {
  const [first, ...older] = linesOf(await readOrCreate(keyFile(dataDir), () => ids.secret(32), ids))
  let leading = first
  if (older.length === 0) {
    // First: from then on the channels do not need what is taken out.
    await readOrCreate(channelFile(dataDir), () => first, ids)
    leading = ids.secret(32)
    await writeDurably(keyFile(dataDir), `${leading}\n${first}`, ids)
  }
  // Also when it is the file of a change that failed after it was written.
  keyring.lead(leading)
  const renewed = await renewAll(keyring.renew)
  await writeDurably(keyFile(dataDir), leading, ids)
  return renewed
}

/** What came of it, for people. */
export const changed = (renewed: number): string =>
  `a new key seals from now on; ${renewed} stored ${renewed === 1 ? 'secret was' : 'secrets were'} sealed anew`
