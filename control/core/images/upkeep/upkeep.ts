/** Forgets images that a workspace has pulled, and removes trees that nobody needs any more. */
import type { Clock } from '../../../../shared/clock.ts'
import type { Closing } from '../../../../shared/closing.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Images } from '../images.ts'
import type { Pulled } from '../pulled.ts'
import { splitReference } from '../tags.ts'
import type { Store } from '../../store/store.ts'
import type { BuiltImage } from '../built.ts'
import { builtUsers, unusedBuilt } from './built-use.ts'
import { digestsInUse, usersOf, type UseDeps } from './use.ts'

export interface ImageUpkeep {
  /**
   * Forgets what the workspace has pulled and none of its records is made of; resolves with the number of references. Throws `unavailable`
   * while a record does not say what it is made of.
   */
  removeUnused(workspace: string): Promise<number>
  /** Forgets these. Throws `invalid_argument` when one is in use, or a record does not say what it is made of, and then none is forgotten. */
  remove(workspace: string, pulled: readonly Pulled[]): Promise<void>
  /** The same of images that the workspace has built. */
  removeBuilt(workspace: string, built: readonly BuiltImage[]): Promise<void>
}

export interface UpkeepDeps extends UseDeps {
  readonly images: Pick<Images, 'remoteName' | 'trees' | 'pulling' | 'built' | 'keyOf' | 'offered' | 'collect'>
  readonly store: Pick<Store, 'resources' | 'instances' | 'tenants'>
  readonly clock: Clock
  readonly log: Log
}

const everyMs = 3_600_000

const inTheWay = 'cannot be read, and may be made of any'
const next = 'delete it, or mend its row of the database'

const collect = async (deps: UpkeepDeps): Promise<void> => {
  const { images, store, log } = deps
  for (const workspace of await images.pulling.workspaces())
    if (!(await store.tenants.workspace(workspace)))
      for (const { reference } of await images.pulling.list(workspace))
        await images.pulling.remove(workspace, reference)
  for (const workspace of await images.built.workspaces())
    if (!(await store.tenants.workspace(workspace)))
      for (const { reference } of await images.built.list(workspace)) await images.built.remove(workspace, reference)
  const removed = await images.collect(await digestsInUse(deps))
  if (removed.length > 0) log.info('images.collected', { digests: removed })
}

/** Collects every hour from now on. */
export const imageUpkeep = (deps: UpkeepDeps, closer: Closing): ImageUpkeep => {
  const { images, clock, log } = deps
  let under = Promise.resolve()
  const soon = (): Promise<void> =>
    (under = under.then(() => collect(deps)).catch(error => log.warn('images.uncollected', { error })))
  const stop = clock.every(everyMs, () => void soon())
  closer.add('image upkeep', async () => {
    stop()
    await under
  })
  const forget = async (workspace: string, pulled: readonly Pulled[]): Promise<void> => {
    for (const { reference } of pulled) await images.pulling.remove(workspace, reference)
    if (pulled.length > 0) await soon()
  }
  return {
    async removeUnused(workspace) {
      const pulled = await images.pulling.list(workspace)
      const { of: users, unknown } = await usersOf(deps, workspace, pulled)
      const offered = await images.offered(workspace)
      const unused = pulled.filter(
        ({ reference }) => !users.has(reference) && !offered.has(splitReference(reference)[0]),
      )
      if (unused.length > 0 && unknown)
        throw fail('unavailable', { what: `which images are unused is not known: ${unknown} ${inTheWay}`, next })
      await forget(workspace, unused)
      const built = await unusedBuilt(deps, workspace)
      for (const { reference } of built) await images.built.remove(workspace, reference)
      if (built.length > 0) await soon()
      return unused.length + built.length
    },
    async removeBuilt(workspace, built) {
      const users = await builtUsers(deps, workspace, error => {
        throw error
      })
      const used = built.find(({ reference }) => users.has(reference))
      if (used)
        throw fail('invalid_argument', {
          field: 'imageName',
          reason: `"${used.reference}" is in use by ${users.get(used.reference)}`,
        })
      for (const { reference } of built) await images.built.remove(workspace, reference)
      await soon()
    },
    async remove(workspace, pulled) {
      const { of: users, unknown } = await usersOf(deps, workspace, pulled)
      const used = pulled.find(({ reference }) => users.has(reference))
      if (used)
        throw fail('invalid_argument', {
          field: 'imageName',
          reason: `"${used.reference}" is in use by ${users.get(used.reference)}`,
        })
      if (unknown) throw fail('invalid_argument', { field: 'imageName', reason: `${unknown} ${inTheWay}; ${next}` })
      await forget(workspace, pulled)
    },
  }
}
