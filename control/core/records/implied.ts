/** Records that are there although nobody made them: a kind names them, and no row is kept. */
import type { Key, Resource, Store } from '../store/store.ts'
import type { Kind } from './kind.ts'

/** Who made them. */
const maker = 'hutch'

/** The record of that key when its kind implies it, as old as its workspace. */
export const implied = async (
  { tenants }: Pick<Store, 'tenants'>,
  { implicit = [], life }: Kind,
  key: Key,
): Promise<Resource | undefined> => {
  if (!implicit.includes(key.name)) return undefined
  const createdAt = (await tenants.workspace(key.workspace))?.createdAt ?? 0
  return {
    ...key,
    uid: `${key.kind}/${key.workspace}/${key.name}`,
    version: 0,
    status: life?.initial ?? '',
    metadata: { createdBy: maker, updatedBy: maker },
    spec: {},
    internal: {},
    createdAt,
    updatedAt: createdAt,
  }
}

/** Whether a record has no row. */
export const isImplied = ({ version }: Resource): boolean => version === 0
