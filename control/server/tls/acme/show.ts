/** Shows the answer to one challenge, and takes it away again. */
import { createSecureContext } from 'node:tls'
import { execa } from 'execa'
import type { Authorization } from 'acme-client'
import type { Clock } from '../../../../shared/clock.ts'
import type { AcmeDnsUpdates, ChallengeType } from '../../../base/config/acme.ts'
import type { Challenges } from './challenges.ts'
import type { TextRecord } from './dns-update/message.ts'
import { updateDns } from './dns-update/update.ts'

export interface Shown {
  remove(): Promise<void>
}

export interface Showing {
  readonly challenges: Challenges
  readonly dnsHook: string
  readonly dnsUpdates: AcmeDnsUpdates | undefined
  readonly clock: Clock
  readonly createAlpnCertificate: (authorization: Authorization, key: string) => Promise<[Buffer, Buffer]>
}

interface Asked {
  readonly authorization: Authorization
  readonly token: string
  /** What proves that it is this account; for the DNS, in the form that stands there. */
  readonly key: string
}

const hookMs = 120_000

/** No longer than a mistake should be remembered. */
const recordTtlS = 60

const updated = async (updates: AcmeDnsUpdates, record: TextRecord, clock: Clock): Promise<Shown> => {
  const nowS = () => Math.floor(clock.now() / 1000)
  await updateDns(updates, { add: record }, nowS())
  if (updates.settleMs > 0) await clock.sleep(updates.settleMs)
  return { remove: () => updateDns(updates, { remove: record }, nowS()) }
}

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
  async 'dns-01'({ dnsHook, dnsUpdates, clock }, { authorization, key }) {
    const name = `_acme-challenge.${authorization.identifier.value}`
    if (dnsUpdates) return updated(dnsUpdates, { name, value: key, ttlS: recordTtlS }, clock)
    const run = (what: string) => execa(dnsHook, [what, name, key], { timeout: hookMs, stdin: 'ignore' })
    await run('present')
    return { remove: async () => void (await run('remove')) }
  },
}

/** Resolves when it is shown. */
export const show = (type: ChallengeType, showing: Showing, asked: Asked): Promise<Shown> => ways[type](showing, asked)
