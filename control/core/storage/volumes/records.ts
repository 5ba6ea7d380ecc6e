/** What the records of volumes say. */
import type { Rate, Resource } from '../../store/store.ts'

export const volumeKindName = 'volume'

/** MB of a volume that names no size. */
export const fallbackMb = 1024

export interface StoredVolume {
  /** MB. */
  readonly size: number
  readonly region?: string
  /** `name:version`. */
  readonly template?: string
}

export const storedVolume = ({ spec }: Pick<Resource, 'spec'>): StoredVolume => spec as unknown as StoredVolume

export const sizeMbOf = (record: Pick<Resource, 'spec'>): number => storedVolume(record).size || fallbackMb

/** What was provisioned is paid for, whatever is in it. */
export const volumeRates = (record: Pick<Resource, 'spec' | 'status'>): readonly Rate[] =>
  ['DEPLOYED', 'DEPLOYING'].includes(record.status)
    ? [{ dimension: 'volume_storage_gbs', quantity: sizeMbOf(record) / 1024 }]
    : []
