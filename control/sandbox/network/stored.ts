/** A sandbox's network as it is stored: plain values, secrets and canaries sealed. */
import type { Sealer } from '../../secrets.ts'

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
