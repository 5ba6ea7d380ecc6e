import { fail, isError } from '../../../shared/errors.ts'
import { onNewest, type Draft, type Move } from '../transitions/transition.ts'
import { leavingStatuses } from '../transitions/rules.ts'
import type { ApiKey, Resource } from '../store/store.ts'
import { accepted } from './accepted.ts'
import { inputOf, type ResourceInput } from './body.ts'
import {
  around,
  attempts,
  find,
  keyOf,
  pathTo,
  pokeAll,
  whole,
  withInstances,
  type Actor,
  type Context,
  type Writing,
} from './context.ts'
import { displacing } from './displace.ts'
import { isImplied } from './implied.ts'
import type { Credential, Issued } from './issue.ts'
import { waitsForUpload, type Slot } from '../transitions/slot.ts'
import { statusOf, toldOnce, type Around, type Found, type Generated } from './kind.ts'
import { mergeMetadata } from './metadata.ts'
import { rendered, type Presented } from './present.ts'
import { revise, type Revised } from './revisions.ts'

export interface CreateOptions extends Writing {
  /** Answers the one there is instead of failing with `already_exists`. */
  readonly createIfNotExist?: boolean
  /** Others that have what it claims go. */
  readonly force?: boolean
}

/** Whether whoever holds the name keeps it. Asked to make sure that one exists, one on its way out is as good as gone. */
const keepsName = ({ kind, clock }: Context, holder: Found, createIfNotExist: boolean): boolean => {
  const status = statusOf(kind, holder, clock.now())
  return !kind.replaceableStatuses.includes(status) && !(createIfNotExist && leavingStatuses(kind).includes(status))
}

const nameFor = ({ kind, ids }: Context, input: ResourceInput): string => {
  const given = input.metadata?.name
  if (given) return kind.names.check(given)
  const made = kind.names.generate?.(ids)
  if (!made) throw fail('invalid_argument', { field: 'metadata.name', reason: 'is missing' })
  return made
}

interface Drafted {
  readonly draft: Draft
  readonly issued: Issued
  readonly generated?: Generated | undefined
  /** Which revision it begins with. */
  readonly of?: Revised['of']
}

const drafted = async (
  context: Context,
  actor: Actor,
  [name, input, upload]: readonly [string, ResourceInput, Slot | undefined],
  here: Around,
): Promise<Drafted> => {
  const { kind, ids, sealer } = context
  const accept = await accepted(context, input.spec, undefined, here)
  const generated = kind.generate?.(accept, undefined, { ids, sealer })
  const draft: Draft = {
    uid: ids.uuid(),
    kind: kind.kind,
    workspace: actor.workspace,
    parent: pathTo(here.parents.map(parent => parent.name)),
    name,
    metadata: mergeMetadata(input.metadata ?? undefined, undefined, actor.name),
    spec: generated?.spec ?? accept,
    ...(upload ? { status: 'UPLOADING', internal: { build: upload } } : {}),
  }
  const issued = kind.issue?.(draft, { ...here, ids, sealer }) ?? {}
  const spec = { ...draft.spec, ...issued.spec }
  const named = { ...draft, name: issued.name ?? name }
  if (!kind.revisions) return { draft: { ...named, spec }, issued, generated }
  const revised = revise(kind.revisions, spec, undefined, { ids, now: here.now, name: actor.name })
  const revisions = { revisions: revised.revisions }
  return {
    draft: { ...named, spec: revised.spec, internal: { ...draft.internal, ...revisions } },
    issued,
    generated,
    of: revised.of,
  }
}

const keyFrom = async ({ store, clock }: Context, draft: Draft, credential: Credential): Promise<ApiKey> => {
  const workspace = await store.tenants.workspace(draft.workspace)
  if (!workspace) throw fail('not_found', { kind: 'workspace', name: draft.workspace })
  return {
    ...credential,
    id: draft.uid,
    owner: draft.uid,
    person: null,
    defaultWorkspace: null,
    account: workspace.account,
    workspace: workspace.name,
    accountAdmin: false,
    createdAt: clock.now(),
  }
}

const movesFor = async (context: Context, { draft, issued, of }: Drafted): Promise<Move[]> => {
  const { kind, ids } = context
  const { kind: what, parent, name, workspace, metadata } = draft
  const inside = (issued.inside ?? []).map(one => ({
    create: { ...one, uid: ids.uuid(), workspace, parent: parent ? `${parent}/${name}` : name, metadata },
    message: `${one.kind} ${one.name} created`,
  }))
  const { credential } = issued
  return [
    {
      create: draft,
      message: draft.status ? waitsForUpload : (kind.createdMessage?.(draft.spec) ?? `${what} ${name} created`),
      ...(of ? { revisions: of } : {}),
      ...(credential ? { credential: await keyFrom(context, draft, credential) } : {}),
    },
    ...inside,
    ...(issued.changes ?? []).map(identity => ({ identity })),
  ]
}

/** That the account, and what it lives inside, have no more of them than they may, with this one. */
const withinQuota = ({ kind, quotas = {} }: Context, { workspace }: Actor, parent: string): Move[] => {
  const most = quotas[kind.plural]
  const resource = kind.plural
  if (kind.mostInside !== undefined)
    return [{ atMost: { kind: kind.kind, resource, workspace, parent, most: kind.mostInside } }]
  return most === undefined ? [] : [{ atMost: { kind: kind.kind, resource: kind.plural, workspace, most } }]
}

interface Made {
  readonly found: Found
  readonly generated?: Generated | undefined
  readonly told?: Issued['told']
  readonly isNew: boolean
}

const attempt = async (context: Context, actor: Actor, input: ResourceInput, options: CreateOptions): Promise<Made> => {
  const { kind, store, transition } = context
  const { parents, createIfNotExist = false, force = false, upload } = options
  const here = await around(context, actor, options)
  const name = nameFor(context, input)
  const record = await store.resources.get(keyOf(context, actor, name, parents))
  const holder = record && (await withInstances(context, kind, record))
  if ((holder && keepsName(context, holder, createIfNotExist)) || kind.implicit?.includes(name)) {
    if (createIfNotExist && holder) return { found: holder, isNew: false }
    throw fail('already_exists', { kind: kind.kind, name })
  }
  const made = await drafted(context, actor, [name, input, upload], here)
  const { draft, issued, generated } = made
  // One that waits for its image asks for a machine later.
  if (kind.workload && !upload) {
    const storageMb = kind.workload.storageMb?.(draft)
    await context.entry?.admit({ workspace: actor.workspace, uid: draft.uid, storageMb })
  }
  try {
    const written = await transition.write([
      ...(holder ? [{ remove: holder.record }] : []),
      ...(force ? await displacing(context, draft) : []),
      ...here.parents.filter(parent => kind.boundToParents && !isImplied(parent)).map(expect => ({ expect })),
      ...(await movesFor(context, made)),
      ...withinQuota(context, actor, draft.parent),
    ])
    pokeAll(context, written)
    const stored = written.resources.find(({ uid }) => uid === draft.uid) as Resource
    const { told } = issued
    return { found: { record: stored, instances: [] }, isNew: true, generated, ...(told ? { told } : {}) }
  } catch (error) {
    context.entry?.leave(draft.uid)
    // Somebody else was first: that one is what was asked for.
    if (createIfNotExist && isError(error, 'already_exists'))
      return { found: await find(context, actor, name, options), isNew: false }
    throw error
  }
}

/** Stores a new resource, in the place of one that is over. `body` is of the kind's shape. */
export const create = async (
  context: Context,
  actor: Actor,
  body: unknown,
  options: CreateOptions = {},
): Promise<Presented> => {
  const { kind } = context
  const input = inputOf(kind, body)
  const { found, told, generated, isNew } = await onNewest(() => attempt(context, actor, input, options), attempts)
  if (isNew && kind.finish) await kind.finish(found.record)
  const now = isNew && kind.finish ? await find(context, actor, found.record.name, options) : found
  const standard = await whole(context, now)
  const created = isNew ? kind.wire?.created : undefined
  const answered = created ? created.render(standard, now.record) : rendered(kind, standard, now)
  return { ...toldOnce(answered, generated), ...told } as Presented
}
