/** The kinds of this host, and what can be done with them. */
import { writeWireNames } from '../shared/wire-names.ts'
import type { Config } from './config.ts'
import { defaultImage } from './images/default.ts'
import { createKinds, type Kinds } from './kinds/index.ts'
import type { WayOut } from './outbound/way-out.ts'
import type { Parts } from './parts.ts'
import { crud, type Crud, type CrudDeps } from './resources/crud.ts'
import type { Kind } from './resources/kind.ts'

/** What can be done with each kind, without HTTP. */
export type Verbs = Readonly<Record<keyof Kinds, Crud>>

export type KindsByName = ReadonlyMap<string, Kind>

export const kindsOf = (config: Config, { images, sealer, names, store }: Parts, wayOut: WayOut | undefined): Kinds =>
  createKinds({
    images,
    sealer,
    names,
    store,
    wireNames: writeWireNames(config.wireNames),
    regions: config.regions,
    defaultImage: () => defaultImage(images, names.imageName('base-image:latest')),
    egressRules: wayOut !== undefined,
    wayOut,
    standbyAfterMs: config.standbyAfterMs,
  })

export const verbsOf = (kinds: Kinds, deps: CrudDeps): Verbs =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, crud(kind, deps)])) as unknown as Verbs
