/** A record of an image that is built, or fetched, by itself: `POST /images`. It has no routes of its own; images show it. */
import type { Rules } from '../transitions/rules.ts'
import type { Key } from '../store/store.ts'
import { stateTable } from '../transitions/state-table.ts'

export const imageBuildKind = 'image-build'

const life = stateTable('UPLOADING', {
  UPLOADING: { upload: 'UPLOADING', build: 'BUILDING', fetch: 'BUILDING', broke: 'FAILED', delete: 'DELETING' },
  BUILDING: { upload: 'UPLOADING', fetch: 'BUILDING', built: 'BUILT', broke: 'FAILED', delete: 'DELETING' },
  BUILT: { upload: 'UPLOADING', fetch: 'BUILDING', delete: 'DELETING' },
  FAILED: { upload: 'UPLOADING', fetch: 'BUILDING', delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

export const imageBuildRules: Rules = { kind: imageBuildKind, life, hiddenStatuses: [] }

/** What such a record is about. */
export interface ImageBuildSpec {
  readonly resourceType: string
  readonly name: string
}

/** What its record is found by. */
export const imageBuildKey = (workspace: string, image: ImageBuildSpec): Key => ({
  kind: imageBuildKind,
  workspace,
  parent: '',
  name: imageBuildName(image),
})

/** The name of its record. */
export const imageBuildName = ({ resourceType, name }: ImageBuildSpec): string => `${resourceType}/${name}`
