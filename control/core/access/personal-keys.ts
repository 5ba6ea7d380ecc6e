/**
 * Keys of a person. Whoever acts does so with a key of theirs, and has to do with those keys of the same person that may
 * do no more than that one: a key that was given out limited neither sees nor revokes the wider ones.
 */
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { ApiKey, AuditedBy, AuditEntry, KeyHolder, Tenants, Workspace } from '../store/store.ts'
import { expiryFrom, needScopesFor, scopeBeyond, type Scopes } from './key-terms.ts'
import type { KeyUses } from './key-uses.ts'
import { hashKey, newKey, reaches } from './keys.ts'

/** The key of the first start, which `{dataDir}/admin-key` holds. */
export const firstKeyId = 'admin'

/** What a new key is to be; absent members are as of the key it is made with. */
export interface KeyAsked {
  /** What its owner calls it. */
  readonly name?: string | null | undefined
  /** `30d`; absent means that it does not expire. */
  readonly expires_in?: string | null | undefined
  readonly scopes?: readonly string[] | null | undefined
  readonly role?: ApiKey['role'] | null | undefined
  /** The one workspace it reaches, by name or id. */
  readonly workspace?: string | null | undefined
  /** The workspace it means where none is named, by name or id. */
  readonly defaultWorkspace?: string | null | undefined
}

export interface PersonalKey extends ApiKey {
  readonly person: KeyHolder
  /** Epoch ms. */
  readonly lastUsedAt: number | undefined
}

export interface PersonalKeys {
  /** Oldest first. Throws `forbidden` for a key that is nobody's. */
  list(by: ApiKey): Promise<PersonalKey[]>
  /** `secret` is the key itself, told here alone. Throws `forbidden`, and `invalid_argument` naming the member. */
  create(
    by: ApiKey,
    asked: KeyAsked,
    audited?: AuditedBy,
  ): Promise<{ readonly key: PersonalKey; readonly secret: string }>
  /** It is refused from now on. Throws `not_found`, and `wrong_state` for the key of the first start. */
  revoke(by: ApiKey, id: string, audited?: AuditedBy): Promise<void>
}

interface Deps {
  readonly tenants: Tenants
  readonly clock: Clock
  readonly ids: Ids
  readonly uses: Pick<KeyUses, 'of'>
}

const holderOf = ({ person }: ApiKey): KeyHolder => {
  if (person) return person
  const reason = 'this key is a service account’s; its keys are made at /v0/service_accounts/{clientId}/api_keys'
  throw fail('forbidden', { reason })
}

/** Whether `key` may do nothing that `by` may not. */
const covers = (by: ApiKey, key: ApiKey): boolean =>
  by.account === key.account &&
  (by.workspace === null || by.workspace === key.workspace) &&
  (by.role === 'admin' || key.role === 'member') &&
  (by.accountAdmin || !key.accountAdmin) &&
  scopeBeyond(by.scopes, key.scopes) === undefined

const within = async ({ tenants, uses }: Deps, by: ApiKey): Promise<PersonalKey[]> => {
  const { sub } = holderOf(by)
  const found: PersonalKey[] = []
  for (const key of await tenants.personalKeys(by.account))
    if (key.person?.sub === sub && covers(by, key))
      found.push({ ...key, person: key.person, lastUsedAt: await uses.of(key.id) })
  return found
}

const roleFor = (by: ApiKey, asked: KeyAsked): ApiKey['role'] => {
  const role = asked.role ?? by.role
  if (role === 'admin' && by.role !== 'admin')
    throw fail('forbidden', { reason: 'a key of role admin cannot be made with this one' })
  return role
}

/** The workspace that the member `field` names; throws `invalid_argument` when there is none that `reach` has. */
const workspaceOf = async (
  { tenants }: Deps,
  field: string,
  nameOrId: string,
  reach: Pick<ApiKey, 'account' | 'workspace' | 'memberships'>,
): Promise<Workspace> => {
  const found = await tenants.workspace(nameOrId)
  if (!found || found.account !== reach.account)
    throw fail('invalid_argument', { field, reason: `there is no workspace "${nameOrId.slice(0, 64)}"` })
  if (!reaches(reach, found))
    throw fail('invalid_argument', { field, reason: `this key does not reach workspace "${found.name}"` })
  return found
}

/** Of two ends of a key the one that comes first; null is never. */
const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)

const drafted = async (deps: Deps, by: ApiKey, asked: KeyAsked): Promise<Omit<ApiKey, 'hash'>> => {
  const { account, name, memberships } = by
  const { clock, ids } = deps
  const { sub, signsIn } = holderOf(by)
  const createdAt = clock.now()
  const scopes: Scopes = asked.scopes ?? by.scopes
  needScopesFor(by.scopes, scopes)
  const role = roleFor(by, asked)
  const bound = asked.workspace ? await workspaceOf(deps, 'workspace', asked.workspace, by) : undefined
  const workspace = bound?.name ?? by.workspace
  const meant = asked.defaultWorkspace
    ? await workspaceOf(deps, 'defaultWorkspace', asked.defaultWorkspace, {
        account,
        workspace,
        ...(memberships ? { memberships } : {}),
      })
    : undefined
  return {
    id: ids.uuid(),
    name,
    account,
    workspace,
    role,
    accountAdmin: by.accountAdmin && role === 'admin' && workspace === null,
    createdAt,
    // A token is over in two hours, and what it came of stands for the person: programs sign in and make keys.
    expiresAt: earlier(
      expiryFrom(asked.expires_in, createdAt),
      by.grantEnds === undefined ? by.expiresAt : by.grantEnds,
    ),
    scopes,
    owner: null,
    person: {
      sub,
      label: asked.name ?? '',
      expiresIn: asked.expires_in ?? '',
      ...(signsIn ? { signsIn } : {}),
    },
    defaultWorkspace: meant?.name ?? null,
  }
}

/** What the audit says of a key: its id, never the key. */
const entryOf = (by: AuditedBy, action: string, { id, account, workspace }: Omit<ApiKey, 'hash'>): AuditEntry => ({
  ...by,
  account,
  workspace: workspace ?? '',
  action,
  kind: 'API key',
  name: id,
  uid: id,
  detail: {},
})

export const personalKeys = (deps: Deps): PersonalKeys => {
  const { tenants, ids } = deps
  return {
    list: by => within(deps, by),
    async create(by, asked, audited) {
      const secret = newKey(ids)
      const key = { ...(await drafted(deps, by, asked)), hash: hashKey(secret) }
      await tenants.addApiKey(key, audited && entryOf(audited, 'create', key), by.id)
      return { key: { ...key, person: holderOf(key), lastUsedAt: undefined }, secret }
    },
    async revoke(by, id, audited) {
      const found = (await within(deps, by)).find(key => key.id === id)
      if (!found) throw fail('not_found', { kind: 'API key', name: id.slice(0, 64) })
      if (id === firstKeyId)
        throw fail('wrong_state', {
          kind: 'API key',
          name: id,
          state:
            'kept in the file admin-key of the data directory, and a new one takes its place when that file is removed and the server started again',
          wanted: 'a delete',
        })
      await tenants.removeApiKey(id, audited && entryOf(audited, 'delete', found), deps.clock.now())
    },
  }
}
