/** What a workspace signs in to a registry with, to pull images that not everybody may read. Named after the registry's host. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import type { KnownLogin, LoginFor } from '../images/pulling.ts'
import { defineKind } from '../records/define-kind.ts'
import { registryNames } from '../records/naming.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Store } from '../store/store.ts'

const admin = { role: 'admin' } as const
const word = text(4_096).check(s.minLength(1, 'must not be empty'))

export const registryKind = defineKind({
  kind: 'registry',
  plural: 'registries',
  scope: 'integrations',
  access: { create: admin, update: admin, delete: admin },
  names: registryNames,
  spec: s.object({ credentials: s.nullish(s.object({ username: word, password: word })) }),
  sealed: [{ at: ['credentials'], as: 'texts' }],
  example: {
    create: { metadata: { name: 'ghcr.io' }, spec: { credentials: { username: 'ci', password: 'token' } } },
    update: { spec: { credentials: { username: 'ci', password: 'another token' } } },
  },
  check(given) {
    if (!given['credentials']) throw fail('invalid_argument', { field: 'spec.credentials', reason: 'is missing' })
  },
})

interface StoredRegistry {
  /** Each of them sealed. */
  readonly credentials: { readonly username: string; readonly password: string }
}

/** What a workspace has for a registry, opened. */
export const registryLogins =
  ({ store, sealer }: { store: Pick<Store, 'resources'>; sealer: Sealer }): LoginFor =>
  async (workspace, host): Promise<KnownLogin | undefined> => {
    const record = await store.resources.get({ kind: registryKind.kind, workspace, parent: '', name: host })
    if (!record) return undefined
    const { username, password } = (record.spec as unknown as StoredRegistry).credentials
    const version = `${record.uid}:${record.version}`
    return { username: sealer.open(username), password: sealer.open(password), version }
  }
