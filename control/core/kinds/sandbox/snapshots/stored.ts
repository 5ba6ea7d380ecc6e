/** A snapshot's spec as it is stored, and what a sandbox remembers of the one that it was made from. */
import type { PinnedImage, Resource, Store } from '../../../store/store.ts'
import type { StoredSandbox } from '../stored.ts'

export interface StoredSnapshot {
  /** `snap_…`: what clients know it by besides its name. */
  readonly id: string
  readonly mode: 'files'
  readonly source: {
    readonly kind: 'sandbox'
    readonly name: string
    readonly uid: string
    /** The source is gone. */
    readonly deleted?: true
  }
  /** The source's spec as it was. */
  readonly sandbox: StoredSandbox
  /** What its files are laid over. */
  readonly image: PinnedImage
  /** How often the source had been deployed anew. */
  readonly generation: string
  /** Once it is ready. */
  readonly bytes?: number
  readonly pauseMs?: number
}

export const storedSnapshot = ({ spec }: Pick<Resource, 'spec'>): StoredSnapshot => spec as unknown as StoredSnapshot

/** Where the files of a sandbox come from, and what it is told of that. */
export interface StoredOrigin {
  /** Uid of the snapshot, and so the id of its files. */
  readonly snapshot: string
  readonly id: string
  readonly source: string
  readonly image: PinnedImage
  /** Epoch ms. */
  readonly at: number
}

/** A snapshot of the workspace, by its id or its name. */
export const findSnapshot = async (
  { resources }: Pick<Store, 'resources'>,
  workspace: string,
  name: string,
): Promise<Resource | undefined> =>
  (await resources.claimant('snapshot', workspace, name)) ??
  (await resources.get({ kind: 'snapshot', workspace, parent: '', name }))
