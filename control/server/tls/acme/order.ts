/** One certificate ordered from the authority: account, order, challenges, and what comes of them. */
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { rootCertificates } from 'node:tls'
import { join } from 'node:path'
import type * as acmeClient from 'acme-client'
import type { Authorization, Client, Order } from 'acme-client'
import type { Clock } from '../../../../shared/clock.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { AcmeConfig, ChallengeType } from '../../../base/config/acme.ts'
import { readIfThere, writeDurably } from '../../../base/durable.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import type { Challenges } from './challenges.ts'
import { show, type Showing } from './show.ts'

export interface OrderDeps {
  readonly config: AcmeConfig
  /** Authorities of the operator's that the directory's own certificate may be of; '' for none. */
  readonly caFile: string
  /** Where the account is kept. */
  readonly dir: string
  readonly challenges: Challenges
  readonly sealer: Sealer
  readonly ids: Ids
  readonly clock: Clock
  readonly log: Log
}

export interface Ordered {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

type Acme = Pick<typeof acmeClient, 'Client' | 'crypto' | 'axios'>

/** Loaded when it is needed: most servers have no use for it. */
const load = async ({ caFile }: OrderDeps): Promise<Acme> => {
  const acme = await import('acme-client')
  if (caFile) {
    const ca = [...rootCertificates, await readFile(caFile, 'utf8')]
    acme.axios.defaults.httpsAgent = new Agent({ ca })
  }
  return acme
}

/** The account's key, made for each directory once; only its sealed form is on the disk. */
const accountKey = async ({ crypto }: Acme, { dir, config, sealer, ids }: OrderDeps): Promise<string> => {
  const file = join(dir, 'account.json')
  const text = await readIfThere(file)
  const found = (text ? JSON.parse(text) : {}) as Record<string, string>
  const sealed = found[config.directory]
  if (sealed) return sealer.open(sealed)
  const key = String(await crypto.createPrivateEcdsaKey())
  await writeDurably(file, JSON.stringify({ ...found, [config.directory]: sealer.seal(key) }), ids)
  return key
}

const signIn = async (acme: Acme, deps: OrderDeps): Promise<Client> => {
  const { directory, email } = deps.config
  const client = new acme.Client({ directoryUrl: directory, accountKey: await accountKey(acme, deps) })
  await client.createAccount({ termsOfServiceAgreed: true, ...(email ? { contact: [`mailto:${email}`] } : {}) })
  return client
}

/** The first way that both sides have. Only the DNS shows whose all names below one are. */
const wayFor = ({ challenges, wildcard }: Authorization, types: readonly ChallengeType[]) => {
  const usable = types.filter(type => !wildcard || type === 'dns-01')
  const type = usable.find(one => challenges.some(challenge => challenge.type === one))
  const challenge = challenges.find(one => one.type === type)
  if (!type || !challenge) throw new Error(`the authority offers none of ${usable.join(', ') || 'dns-01'}`)
  return { type, challenge }
}

const prove = async (
  client: Client,
  authorization: Authorization,
  deps: OrderDeps,
  showing: Showing,
): Promise<void> => {
  if (authorization.status === 'valid') return
  const { type, challenge } = wayFor(authorization, deps.config.challenges)
  const key = await client.getChallengeKeyAuthorization(challenge)
  const shown = await show(type, showing, { authorization, token: challenge.token, key })
  try {
    await client.completeChallenge(challenge)
    await client.waitForValidStatus(challenge)
  } finally {
    await shown.remove().catch((error: unknown) => deps.log.warn('acme.challenge_left', { type, error }))
  }
}

/** Throws what the authority or the network says. */
export const orderCertificate = async (name: string, deps: OrderDeps): Promise<Ordered> => {
  const acme = await load(deps)
  const client = await signIn(acme, deps)
  const { challenges, config } = deps
  const showing: Showing = {
    challenges,
    dnsHook: config.dnsHook,
    dnsUpdates: config.dnsUpdates,
    clock: deps.clock,
    createAlpnCertificate: async (authorization, key) =>
      acme.crypto.createAlpnCertificate(authorization, key, await acme.crypto.createPrivateEcdsaKey()),
  }
  const order: Order = await client.createOrder({ identifiers: [{ type: 'dns', value: name }] })
  for (const authorization of await client.getAuthorizations(order)) await prove(client, authorization, deps, showing)
  const [key, csr] = await acme.crypto.createCsr({ altNames: [name] }, await acme.crypto.createPrivateEcdsaKey())
  return { cert: await client.getCertificate(await client.finalizeOrder(order, csr)), key: String(key) }
}
