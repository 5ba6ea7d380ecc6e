/** Asks the record of a drive, at each mount, whether a workload may have it. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { DriveMount } from '../../../../shared/drives/provider.ts'
import { errno } from '../../../../shared/errors.ts'
import type { Owner, Store } from '../../store/store.ts'
import { allowed, labelsOf, type StoredDrive } from './rules.ts'

/** Resolves with the mount as it is allowed. Throws `forbidden`, and makes the directory of a drive that has a record. */
export type Permit = (wanted: DriveMount) => Promise<DriveMount>

/** Made with the first mount, as the operator makes others: the workspace's is nobody else's to enter. */
const makeDrive = async (base: string, workspace: string, name: string): Promise<void> => {
  await mkdir(join(base, workspace), { mode: 0o700 }).catch((error: unknown) => {
    if (errno(error) !== 'EEXIST') throw error
  })
  await mkdir(join(base, workspace, name), { mode: 0o755 }).catch((error: unknown) => {
    if (errno(error) !== 'EEXIST') throw error
  })
}

export interface RulesDeps {
  readonly base: string
  /** Name of the kind of drives. */
  readonly driveKind: string
  readonly store: Pick<Store, 'resources'>
  /** Labels that say what a workload is begin with each of them. */
  readonly names: { readonly list: readonly { readonly short: string }[] }
}

export const permitFor =
  ({ base, driveKind, store, names }: RulesDeps, owner: Owner): Permit =>
  async wanted => {
    const { workspace } = owner
    const name = wanted.driveName
    const record = await store.resources.get({ kind: driveKind, workspace, parent: '', name })
    if (!record) return wanted
    const holder = await store.resources.getByUid(owner.uid)
    const prefixes = names.list.map(({ short }) => short)
    const permitted = allowed(record.spec as StoredDrive, labelsOf(owner, holder, prefixes), wanted)
    await makeDrive(base, workspace, name)
    return permitted
  }
