/** The key that an update is signed with, from a file as BIND, Knot and their tools write it. */
import { readFile } from 'node:fs/promises'
import { messageOf } from '../../../../../shared/errors.ts'

/** Names of RFC 8945, section 6, and what node:crypto calls them. */
const algorithms: Readonly<Record<string, string>> = {
  'hmac-sha256': 'sha256',
  'hmac-sha384': 'sha384',
  'hmac-sha512': 'sha512',
}

export interface TsigKey {
  /** In lower case, without a dot at its end. */
  readonly name: string
  /** `hmac-sha256` and the like. */
  readonly algorithm: string
  /** The same in the words of node:crypto. */
  readonly hash: string
  readonly secret: Buffer
}

const named = /\bkey\s+"?([^"\s{]+)"?\s*\{/
const memberOf = (text: string, name: string): string | undefined =>
  new RegExp(`\\b${name}\\s+"?([^";\\s]+)"?\\s*;`).exec(text)?.[1]

/** `key "name" { algorithm hmac-sha256; secret "base64"; };` Throws what is wrong with it. */
const parseKey = (text: string): TsigKey => {
  const name = named.exec(text)?.[1]
  const [algorithm, secret] = [memberOf(text, 'algorithm')?.toLowerCase(), memberOf(text, 'secret')]
  if (!name || !algorithm || !secret) throw new Error('it is not of the form key "name" { algorithm …; secret "…"; };')
  const hash = algorithms[algorithm]
  if (!hash) throw new Error(`algorithm ${algorithm} is none of ${Object.keys(algorithms).join(', ')}`)
  const bytes = Buffer.from(secret, 'base64')
  if (bytes.length < 16) throw new Error('its secret has fewer than 16 bytes')
  return { name: name.toLowerCase().replace(/\.$/, ''), algorithm, hash, secret: bytes }
}

export const readKey = async (file: string): Promise<TsigKey> => {
  try {
    return parseKey(await readFile(file, 'utf8'))
  } catch (error) {
    throw new Error(`the key ${file} cannot be used: ${messageOf(error)}`, { cause: error })
  }
}
