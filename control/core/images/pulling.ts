/** From an image of a registry to a tree that one workspace may use. */
import { access, readFile, rename } from 'node:fs/promises'
import type { Clock } from '../../../shared/clock.ts'
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { Config } from '../../base/config.ts'
import { ignoreTaken } from './import.ts'
import { treePath } from './layout.ts'
import type { Leases } from './leases.ts'
import { pullImage, type Progress, type PullConfig } from './pull/pull.ts'
import { createPulls, type Pull, type Pulls, type Run } from './pull/pulls.ts'
import { registryUrl } from './pull/reach.ts'
import type { Login } from './pull/registry.ts'
import { pulledImages, type Pulled, type PulledImages } from './pulled.ts'
import { remoteOf, type Remote } from './reference.ts'

/** A login with what tells it from the one before and after. */
export interface KnownLogin extends Login {
  readonly version: string
}

/** What a workspace signs in to a registry with; undefined when it has nothing for it. */
export type LoginFor = (workspace: string, host: string) => Promise<KnownLogin | undefined>

export interface Pulling {
  /** Throws `image_refused` when the operator does not let anybody ask that registry. */
  check(remote: Remote): void
  /** Digest of the tree. Throws `busy` while it is pulled or looked after, and why a pull has failed. */
  need(remote: Remote, workspace: string): Promise<string>
  /** What a workspace has pulled. */
  list(workspace: string): Promise<Pulled[]>
  has(workspace: string, reference: string): Promise<boolean>
  every(): Promise<Pulled[]>
  /** Names of the workspaces that have pulled anything. */
  workspaces(): Promise<string[]>
  /** Forgets a reference of a workspace; its tree stays until it is collected. */
  remove(workspace: string, reference: string): Promise<void>
  /** Pulls of a workspace that run, and those that failed lately. */
  underWay(workspace: string): Pull[]
  /** The last progress of a pull, or undefined when none is remembered. */
  progress(workspace: string, reference: string): Progress | undefined
  follow: Pulls['follow']
  close(): Promise<void>
}

/** A private image is shown to its workspace again after so long, before more sandboxes are made from it. */
const checkEveryMs = 300_000

interface Context extends Pick<PullConfig, 'own'> {
  readonly config: PullConfig
  readonly clock: Clock
  readonly ids: Ids
  readonly leases: Leases
  readonly pulls: Pulls
  readonly pulled: PulledImages
  readonly loginFor: LoginFor
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** What anybody can read stays; what was read with a credential, as long as that credential can read it. */
const mayUse = ({ credential, checkedAt }: Pulled, login: KnownLogin | undefined, now: number): boolean =>
  credential === '' || (credential === login?.version && now - checkedAt < checkEveryMs)

/** What somebody has pulled from that very repository: another one may only claim to have what it knows the digest of. */
const sameElsewhere = async ({ pulled, own }: Context, { host, repository }: Remote, digest: string) => {
  const found = (await pulled.every()).find(
    one => one.digest === digest && one.host === host && one.repository === repository,
  )
  return found && (await isThere(treePath(own, digest))) ? found : undefined
}

/** Pulls it, or only asks whether the registry still shows what was pulled before. */
const runOf =
  (context: Context, remote: Remote, workspace: string, known: Pulled | undefined): Run =>
  async (tell, signal) => {
    const { config, clock, own, leases, pulled, loginFor } = context
    const { host, repository, name } = remote
    const login = await loginFor(workspace, host)
    const wanted = known ? { ...remote, digest: `sha256:${known.digest}` } : remote
    const request = {
      remote: wanted,
      login,
      onProgress: tell,
      signal,
      have: async (digest: string) => (await sameElsewhere(context, remote, digest)) !== undefined,
      async publish(tree: string, digest: string) {
        leases.hold(digest)
        await rename(tree, treePath(own, digest)).catch(ignoreTaken)
      },
    }
    const { digest, size } = await pullImage(config, request, context)
    const now = clock.now()
    const before = size === 0 ? await sameElsewhere(context, remote, digest) : undefined
    await pulled.put(workspace, {
      reference: name,
      host,
      repository,
      digest,
      size: before?.size ?? size,
      pulledAt: known?.pulledAt ?? now,
      credential: login?.version ?? '',
      checkedAt: now,
    })
  }

const doing: Readonly<Record<Progress['step'], string>> = {
  waiting: 'waits for its turn to be pulled',
  manifest: 'is being pulled',
  layers: 'is being pulled',
  unpack: 'is being unpacked',
  done: 'is pulled',
  failed: 'is not there',
}

const need = async (context: Context, remote: Remote, workspace: string): Promise<string> => {
  const { pulled, pulls, loginFor, clock, own } = context
  const { name, host } = remote
  const found = await pulled.get(workspace, name)
  const known = found && (await isThere(treePath(own, found.digest))) ? found : undefined
  if (known && mayUse(known, await loginFor(workspace, host), clock.now())) return known.digest
  const { error, progress } = pulls.want(workspace, name, runOf(context, remote, workspace, known))
  if (error) throw error
  throw fail('busy', { what: `image "${name}" ${doing[progress.step]}`, next: 'wait' })
}

const readAuthorities = async (file: string | undefined): Promise<string> => {
  if (!file) return ''
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw fail('invalid_argument', { field: 'HUTCH_CA_FILE', reason: messageOf(error) }, error)
  }
}

/** A reference in the form that it is known by. */
const stored = (reference: string): string => remoteOf(reference)?.name ?? reference

const nobody: LoginFor = async () => undefined
const usually = { maxBytes: 2 ** 34, atOnce: 2, timeMs: 1_800_000 }

export type PullingConfig = { readonly own: string } & Partial<
  Pick<Config, 'registries' | 'proxies' | 'pullLimits' | 'caFile'>
>

/** No registry may be asked unless `registries` has some. Throws `invalid_argument` when the file of authorities cannot be read. */
export const createPulling = async (
  { own, registries = [], proxies = { http: '', https: '', except: [] }, pullLimits = usually, caFile }: PullingConfig,
  deps: { clock: Clock; ids: Ids; log: Log; leases: Leases; loginFor?: LoginFor },
): Promise<Pulling> => {
  const authorities = await readAuthorities(caFile)
  const config: PullConfig = { own, registries, proxies, limits: pullLimits, authorities }
  const pulls = createPulls(pullLimits, deps)
  const pulled = pulledImages(own, deps.ids)
  const context: Context = { ...deps, own, config, pulls, pulled, loginFor: deps.loginFor ?? nobody }
  return {
    check({ host, name }) {
      if (registryUrl(host, registries)) return
      throw fail('image_refused', {
        image: name,
        reason: `${host} is not among the registries of this host (HUTCH_REGISTRIES)`,
      })
    },
    need: (remote, workspace) => need(context, remote, workspace),
    list: pulled.list,
    has: async (workspace, reference) => (await pulled.get(workspace, reference)) !== undefined,
    every: pulled.every,
    workspaces: pulled.workspaces,
    remove: pulled.remove,
    underWay: pulls.list,
    progress: (workspace, reference) => pulls.find(workspace, stored(reference))?.progress,
    follow: (workspace, reference, changed) => pulls.follow(workspace, stored(reference), changed),
    close: pulls.close,
  }
}
