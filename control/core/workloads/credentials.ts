/**
 * What the machine of a workload calls the management API with: a client of OAuth, or a key, that is computed from the machine's id and
 * kept nowhere. It acts as a member of its workspace, and is none from when the machine is told to stop.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { fail } from '../../../shared/errors.ts'
import { grantHash } from '../access/grants.ts'
import { hashKey } from '../access/keys.ts'
import type { ApiKey, Store } from '../store/store.ts'

export interface MachineCredentials {
  /** For `SVC_CLIENT_CREDENTIALS`: id and secret of the client, in base64. */
  clientOf(instance: string): string
  /** SHA-256 of the secret of a client that is a machine's; undefined for another client. */
  secretHash(clientId: string): Promise<string | undefined>
  /** Whether a credential looks like a machine's key. */
  isKey(credential: string): boolean
  /** The rights of a machine's key. Throws `unauthenticated`. */
  verifyKey(credential: string): Promise<ApiKey>
  /** The store's keys, and those of machines. */
  readonly tenants: Store['tenants']
}

const prefix = 'wl-'
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const clientId = new RegExp(`^${prefix}(${uuid})$`)
const keyForm = new RegExp(`^hutch_${prefix}(${uuid})_([\\w-]{43})$`)

const same = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** `secret` is text that only this host knows. */
export const machineCredentials = (secret: string, store: Pick<Store, 'instances' | 'tenants'>): MachineCredentials => {
  const secretOf = (instance: string): string =>
    createHmac('sha256', secret).update(`credential of machine ${instance}`).digest('base64url')

  const keyOf = async (instance: string): Promise<ApiKey | undefined> => {
    const found = await store.instances.get(instance)
    if (!found || found.status === 'stopping') return undefined
    const { owner, createdAt } = found
    const workspace = await store.tenants.workspace(owner.workspace)
    if (!workspace) return undefined
    return {
      id: `${prefix}${instance}`,
      hash: grantHash.client(`${prefix}${instance}`),
      name: `${owner.kind} ${owner.name}`,
      account: workspace.account,
      workspace: workspace.name,
      role: 'member',
      accountAdmin: false,
      createdAt,
      expiresAt: null,
      scopes: null,
      owner: owner.uid,
      person: null,
      defaultWorkspace: workspace.name,
    }
  }

  const ofMachine = (hash: string): string | undefined =>
    hash.startsWith(grantHash.client(prefix)) ? clientId.exec(hash.slice(grantHash.client('').length))?.[1] : undefined

  return {
    clientOf: instance => Buffer.from(`${prefix}${instance}:${secretOf(instance)}`).toString('base64'),
    async secretHash(id) {
      const instance = clientId.exec(id)?.[1]
      return instance && (await keyOf(instance)) ? hashKey(secretOf(instance)) : undefined
    },
    isKey: credential => keyForm.test(credential),
    async verifyKey(credential) {
      const [, instance = '', given = ''] = keyForm.exec(credential) ?? []
      const key = instance && same(given, secretOf(instance)) ? await keyOf(instance) : undefined
      if (!key) throw fail('unauthenticated', { reason: 'the credential is not that of a machine that runs' })
      return key
    },
    tenants: {
      ...store.tenants,
      async apiKeyByHash(hash) {
        const instance = ofMachine(hash)
        return instance === undefined ? store.tenants.apiKeyByHash(hash) : keyOf(instance)
      },
    },
  }
}

/** The key of the machine whose client that is. */
export const keyFromClient = (client: string): string => {
  const [id = '', secret = ''] = Buffer.from(client, 'base64').toString('utf8').split(':')
  return `hutch_${id}_${secret}`
}
