/** A sandbox that begins with the files of a snapshot. */
import { createHash } from 'node:crypto'
import { fail } from '../../../../shared/errors.ts'
import type { Around } from '../../records/kind.ts'
import { findSnapshot, storedSnapshot, type StoredOrigin } from './snapshots/stored.ts'
import { acceptAttachments } from '../../storage/volumes/attachments.ts'
import type { Instance, Resource } from '../../store/store.ts'
import { acceptSandbox, type AcceptDeps } from './accept.ts'
import { dense } from './dense.ts'
import type { SandboxSpecInput } from './spec.ts'
import { storedSandbox, type StoredSandbox } from './stored.ts'
import { redeploysOf } from './workload.ts'

type ForkDeps = AcceptDeps & Pick<Around, 'workspace' | 'now'>

const refuse = (reason: string) => fail('invalid_argument', { field: 'spec.fromSnapshot', reason })

const snapshotOf = async ({ store, workspace }: ForkDeps, name: string): Promise<Resource> => {
  const found = await findSnapshot(store, workspace, name)
  if (!found) throw refuse(`snapshot "${name}" not found`)
  if (found.status !== 'ready') throw refuse(`snapshot "${name}" is ${found.status}`)
  return found
}

/** How long the source lives is its own, and so are its volumes, of which a snapshot has nothing. */
const inherited = ({
  runtime,
  lifecycle: _lifecycle,
  volumes: _volumes,
  from: _from,
  ...rest
}: StoredSandbox): StoredSandbox => {
  const { ttl: _ttl, expires: _expires, ...kept } = runtime
  return { ...rest, enabled: true, runtime: kept }
}

/**
 * The spec of a new sandbox with the files of a snapshot: what it leaves out it has from the source as that was, its outbound policy too.
 * Throws `invalid_argument` for another image than the source's.
 */
export const acceptFork = async (input: SandboxSpecInput, deps: ForkDeps): Promise<StoredSandbox> => {
  const snapshot = await snapshotOf(deps, input.fromSnapshot as string)
  const { id, image, sandbox, source } = storedSnapshot(snapshot)
  const before = inherited(sandbox)
  if (input.runtime?.image && input.runtime.image !== before.runtime.image)
    throw fail('invalid_argument', {
      field: 'spec.runtime.image',
      reason: `must be "${before.runtime.image}", over which the files of the snapshot are laid; leave it out`,
    })
  const { volumes: asked, ...said } = input
  const after = await acceptSandbox(said, before, deps)
  const volumes = await acceptAttachments(asked, undefined, { workspace: deps.workspace, region: after.region }, deps)
  const from: StoredOrigin = { snapshot: snapshot.uid, id, source: source.name, image, at: deps.now }
  // What nobody has said of the network is the source's: a fork is held to what held it.
  const network = input.network
    ? {}
    : { network: sandbox.network, networkTexts: sandbox.networkTexts, held: sandbox.held }
  return { ...after, ...(network as Pick<StoredSandbox, 'network'>), ...dense({ volumes }), from }
}

/** Where a machine's files come from: those of the first, before the sandbox was deployed anew. */
export const originOf = (
  owner: Pick<Resource, 'spec' | 'internal'>,
  { revision }: Pick<Instance, 'revision'>,
): StoredOrigin | undefined =>
  revision === '0' && redeploysOf(owner as Resource) === 0 ? storedSandbox(owner).from : undefined

/** Files of /etc that tell one sandbox from others, and a fork that it is one. */
export const identityFiles = (owner: Pick<Resource, 'uid' | 'spec'>): Readonly<Record<string, string>> => {
  const { from } = storedSandbox(owner)
  const machineId = createHash('sha256').update(`machine-id ${owner.uid}`).digest('hex').slice(0, 32)
  const told = from && { snapshot: from.id, source: from.source, forkedAt: new Date(from.at).toISOString() }
  return { 'machine-id': `${machineId}\n`, ...(told ? { 'hutch-fork': `${JSON.stringify(told)}\n` } : {}) }
}
