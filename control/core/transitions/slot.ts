/** What a record remembers of an image that is to be made for it. */
import type { Resource } from '../store/store.ts'

export interface Slot {
  /** Names one upload, or one image that is fetched; a later one takes its place. */
  readonly id: string
  /** Epoch ms; nothing is taken in afterwards. */
  readonly expiresAt: number
  /** In place of an upload: a reference that is converted. */
  readonly from?: string
  /** Sealed: a docker configuration with logins for registries. */
  readonly logins?: string
  /** What the record has run until now goes on until the build has ended. */
  readonly serves?: boolean
}

/** Text of the event with which an upload is waited for. */
export const waitsForUpload = 'waits for its upload'

/** Whether a record of that status waits for its image. */
export const isMade = (status: string): boolean => status === 'UPLOADING' || status === 'BUILDING'

export const slotOf = ({ internal }: Pick<Resource, 'internal'>): Slot | undefined =>
  internal['build'] as Slot | undefined

/** What is remembered without it. */
export const withoutSlot = ({ internal }: Pick<Resource, 'internal'>): Resource['internal'] => {
  const { build: _, ...rest } = internal
  return rest
}
