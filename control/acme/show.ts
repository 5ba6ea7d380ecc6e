/** Shows the answer to one challenge, and takes it away again. */
import { createSecureContext } from 'node:tls'
import { execa } from 'execa'
import type { Authorization } from 'acme-client'
import type { ChallengeType } from '../config/acme.ts'
import type { Challenges } from './challenges.ts'

export interface Shown {
  remove(): Promise<void>
}

export interface Showing {
  readonly challenges: Challenges
  readonly dnsHook: string
  readonly createAlpnCertificate: (authorization: Authorization, key: string) => Promise<[Buffer, Buffer]>
}

interface Asked {
  readonly authorization: Authorization
  readonly token: string
  /** What proves that it is this account; for the DNS, in the form that stands there. */
  readonly key: string
}

const hookMs = 120_000

const ways: Readonly<Record<ChallengeType, (showing: Showing, asked: Asked) => Promise<Shown>>> = {
  async 'http-01'({ challenges: { http } }, { token, key }) {
    http.set(token, key)
    return { remove: async () => void http.delete(token) }
  },
  async 'tls-alpn-01'({ challenges: { alpn }, createAlpnCertificate }, { authorization, key }) {
    const name = authorization.identifier.value
    const [privateKey, cert] = await createAlpnCertificate(authorization, key)
    alpn.set(name, createSecureContext({ cert, key: privateKey }))
    return { remove: async () => void alpn.delete(name) }
  },
  async 'dns-01'({ dnsHook }, { authorization, key }) {
    const name = `_acme-challenge.${authorization.identifier.value}`
    const run = (what: string) => execa(dnsHook, [what, name, key], { timeout: hookMs, stdin: 'ignore' })
    await run('present')
    return { remove: async () => void (await run('remove')) }
  },
}

/** Resolves when it is shown. */
export const show = (type: ChallengeType, showing: Showing, asked: Asked): Promise<Shown> => ways[type](showing, asked)
