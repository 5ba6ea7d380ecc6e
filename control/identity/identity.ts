/** Signing in to this host: its OAuth provider, and the tokens that it gives out. */
import { createHmac } from 'node:crypto'
import type { JWK } from 'oidc-provider'
import type { Clock } from '../../shared/clock.ts'
import { callInProcess, type InProcessAnswer } from '../../shared/http/in-process.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Request } from '../../shared/route.ts'
import type { Sealer } from '../secrets.ts'
import type { Store } from '../store/store.ts'
import { clientsFrom } from './provider/clients.ts'
import { openProvider, type OpenedProvider } from './provider/provider.ts'
import { createSigningKeys } from './signing-keys.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** Instead of what a request has. */
export interface Instead {
  readonly authorization?: string | undefined
  readonly body?: string | undefined
}

export interface Identity {
  readonly tokens: Tokens
  /** `https://host/v0`. */
  readonly issuer: () => string
  /** What the provider answers to a request of one of its addresses. */
  answer(request: Request, instead?: Instead): Promise<InProcessAnswer>
}

export interface IdentityDeps {
  readonly store: Pick<Store, 'identity' | 'tenants' | 'resources'>
  readonly sealer: Sealer
  readonly clock: Clock
  readonly ids: Ids
  /** Of this host, without a slash at its end. */
  readonly publicUrl: () => string
  /** Names of the public client. */
  readonly clientNames: readonly string[]
  /** Text that only this host knows. */
  readonly secret: string
}

/** Opened anew when another key signs, or the host has another address. */
const opening = (deps: IdentityDeps, keysOf: () => Promise<JWK[]>, issuer: () => string) => {
  const { clientNames, store, secret } = deps
  const cookieKey = createHmac('sha256', secret).update('cookies of sign-in').digest('base64url')
  const knownClient = clientsFrom(clientNames, store)
  let opened: { readonly of: string; readonly provider: Promise<OpenedProvider> } | undefined
  return async (): Promise<OpenedProvider> => {
    const keys = await keysOf()
    const of = [issuer(), ...keys.map(({ kid }) => kid)].join(' ')
    if (opened?.of !== of)
      opened = { of, provider: openProvider({ ...deps, knownClient, issuer: issuer(), keys, cookieKey }) }
    return opened.provider
  }
}

export const createIdentity = (deps: IdentityDeps): Identity => {
  const issuer = () => `${deps.publicUrl()}/v0`
  const signingKeys = createSigningKeys(deps)
  const open = opening(deps, async () => (await signingKeys.privateKeys()) as JWK[], issuer)
  return {
    issuer,
    tokens: createTokens({ ...deps, ...deps.store, signingKeys, issuer }),
    async answer({ method, rawPath, rawQuery, headers, remote }, { authorization, body } = {}) {
      const provider = await open()
      const { host, protocol } = new URL(issuer())
      const query = rawQuery ? `?${rawQuery}` : ''
      const bytes = body === undefined ? undefined : Buffer.from(body)
      const { authorization: _sent, 'content-length': _length, 'content-type': _type, ...rest } = headers
      return callInProcess(provider.callback(), {
        method,
        url: `${rawPath.replace(/^\/v0/, '')}${query}`,
        originalUrl: `${rawPath}${query}`,
        headers: {
          ...rest,
          host,
          'x-forwarded-proto': protocol.slice(0, -1),
          ...(authorization === undefined ? {} : { authorization }),
          ...(bytes
            ? { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(bytes.length) }
            : {}),
        },
        remote,
        body: bytes,
      })
    },
  }
}
