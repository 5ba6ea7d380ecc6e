/** A sandbox's network as it is stored: plain values, secrets and canaries sealed. */
import { parse, s } from '../../../../../shared/schema.ts'
import type { Sealer } from '../../../secrets/secrets.ts'

/** Name → sealed value. */
export type SealedTexts = Readonly<Record<string, string>>

export interface StoredRoute {
  readonly destinations?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, string>>
  readonly secrets?: SealedTexts
}

export interface StoredProxy {
  readonly allowedDomains?: readonly string[]
  readonly forbiddenDomains?: readonly string[]
  readonly bypass?: readonly string[]
  readonly routing?: readonly StoredRoute[]
  readonly mode?: 'enforce' | 'shadow' | 'record'
  readonly canaries?: SealedTexts
  readonly canary?: 'opened' | 'strict'
}

export interface StoredNetwork {
  readonly allowedDomains?: readonly string[]
  readonly forbiddenDomains?: readonly string[]
  readonly subnet?: string
  readonly firewall?: { readonly rulesets?: readonly string[] }
  readonly egress?: { readonly gateway?: string; readonly mode?: string; readonly policies?: readonly object[] }
  readonly proxy?: StoredProxy
}

export const openTexts = (sealed: SealedTexts | undefined, sealer: Sealer): Record<string, string> =>
  Object.fromEntries(Object.entries(sealed ?? {}).map(([name, value]) => [name, sealer.open(value)]))

const list = () => s.nullish(s.array(s.string()))
const map = () => s.nullish(s.record(s.string(), s.string()))

const storedProxy = s.strictObject({
  allowedDomains: list(),
  forbiddenDomains: list(),
  bypass: list(),
  routing: s.nullish(s.array(s.strictObject({ destinations: list(), headers: map(), body: map(), secrets: map() }))),
  mode: s.nullish(s.enum(['enforce', 'shadow', 'record'])),
  canaries: map(),
  canary: s.nullish(s.enum(['opened', 'strict'])),
})

/** Members that do not limit what leaves are not looked into. */
const storedNetwork = s.strictObject({
  allowedDomains: list(),
  forbiddenDomains: list(),
  subnet: s.nullish(s.unknown()),
  firewall: s.nullish(s.unknown()),
  egress: s.nullish(s.unknown()),
  proxy: s.nullish(storedProxy),
})

/**
 * Throws `invalid_argument` naming the field where it is not what this version writes: damaged, or by a version that knew more. What it
 * limits would be read as no limit otherwise.
 */
export const checkStored = (network: StoredNetwork | undefined): StoredNetwork | undefined => {
  if (network !== undefined) parse(storedNetwork, network, 'config')
  return network
}
