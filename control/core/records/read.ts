import { fail } from '../../../shared/errors.ts'
import {
  answer,
  auditedBy,
  find,
  needParents,
  withInstances,
  type Actor,
  type Context,
  type Inside,
} from './context.ts'
import { statusOf, type Found } from './kind.ts'
import type { ListingOptions, ListQuery } from './list-query.ts'
import { listing, type Page } from './listing.ts'
import type { Presented } from './present.ts'

export interface GetOptions extends Inside {
  /** Only admins of the workspace may: `forbidden`. */
  readonly showSecrets?: boolean
}

/** Secrets are shown only after it was written down to whom. */
const noteReveal = ({ store, clock }: Context, actor: Actor, { record }: Found): Promise<void> => {
  const { kind, workspace, parent, name, uid } = record
  const what = { action: 'reveal', kind, workspace, name: parent ? `${parent}/${name}` : name, uid, detail: {} }
  return store.audit.append([{ ...auditedBy(actor), ...what, account: '' }], clock.now())
}

export const get = async (
  context: Context,
  actor: Actor,
  name: string,
  options: GetOptions = {},
): Promise<Presented> => {
  const { showSecrets = false } = options
  await needParents(context, actor, options)
  if (showSecrets && !actor.admin)
    throw fail('forbidden', { reason: 'show_secrets needs the admin role of the workspace' })
  const found = await find(context, actor, name, options)
  if (showSecrets) await noteReveal(context, actor, found)
  return answer(context, found, showSecrets)
}

export const list = async (
  context: Context,
  actor: Actor,
  query: ListQuery,
  options: ListingOptions = {},
): Promise<Page> => {
  if (!options.across) await needParents(context, actor, options)
  return listing(context, actor, query, options)
}

const isLive = ({ kind, clock }: Context, found: Found): boolean =>
  !kind.hiddenStatuses.includes(statusOf(kind, found, clock.now()))

/** The newest one that lives. */
export const getByExternalId = async (context: Context, actor: Actor, externalId: string): Promise<Presented> => {
  const { kind, store } = context
  const { hiddenStatuses } = kind
  const { workspace } = actor
  const newest = await store.resources.getByExternalId(kind.kind, workspace, externalId, hiddenStatuses)
  if (!newest) throw fail('not_found', { kind: kind.kind, name: externalId })
  const found = await withInstances(context, kind, newest)
  if (isLive(context, found)) return answer(context, found)
  // Its time is over; there may be older ones that live.
  const query = { kind: kind.kind, workspace, externalId, exceptStatuses: hiddenStatuses }
  const { items } = await store.resources.list({ ...query, sort: 'createdAt:desc', limit: 200 })
  for (const record of items) {
    const older = await withInstances(context, kind, record)
    if (isLive(context, older)) return answer(context, older)
  }
  throw fail('not_found', { kind: kind.kind, name: externalId })
}
