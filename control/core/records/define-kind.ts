/** What a kind has that its definition leaves out. */
import type { Shape } from '../../../shared/schema.ts'
import type { Kind } from './kind.ts'
import { commonMetadata } from './metadata.ts'
import { givenNames } from './naming.ts'

const defaults = {
  access: {},
  verbs: ['list', 'create', 'get', 'update', 'delete'],
  actions: [],
  metadata: commonMetadata,
  names: givenNames,
  fallback: {},
  absent: 'keep',
  uploads: false,
  upsert: false,
  sealed: [],
  showsSecrets: false,
  showsUse: false,
  usage: [],
  hiddenStatuses: [],
  replaceableStatuses: [],
  createsIfMissing: false,
  removal: 'immediate',
  removalEvent: 'delete',
  paginated: false,
  pageLimit: { fallback: 50, max: 200 },
  olderOffset: false,
  sort: 'createdAt:desc',
  filterStatusOnEveryVersion: false,
  filtersStatus: true,
  anchored: true,
  listsEvents: true,
  byExternalId: false,
  createErrors: [],
  detailedErrors: false,
} satisfies Partial<Kind>

type Defaulted = keyof typeof defaults

/** A kind as it is written down. */
export type KindDefinition<S extends Shape = Shape> = Omit<Kind<S>, Defaulted> & Partial<Pick<Kind<S>, Defaulted>>

// A kind of any spec is used through the plain Kind: hooks are methods, whose parameters may be narrower.
export const defineKind = <S extends Shape>(definition: KindDefinition<S>): Kind =>
  ({ ...defaults, ...definition }) as unknown as Kind

/** What of a kind its routes are declared from: data, no hooks. */
export type KindFace = Pick<
  KindDefinition,
  | 'kind'
  | 'plural'
  | 'scope'
  | 'param'
  | 'parent'
  | 'spec'
  | 'answers'
  | 'life'
  | 'statuses'
  | 'hiddenStatuses'
  | 'dataPlane'
  | 'names'
  | 'paginated'
  | 'byExternalId'
  | 'detailedErrors'
  | 'createsIfMissing'
  | 'showsSecrets'
  | 'uploads'
  | 'imageAt'
  | 'actions'
>
