/** The endpoints of a kind for clients: as declared, with what the compiler can know of bodies and answers. */
import type { Route } from '../../../shared/route.ts'
import type { flag, s, Shape } from '../../../shared/schema.ts'
import { defineKind, type KindFace } from '../../core/records/define-kind.ts'
import type { metadataInput } from '../../core/records/metadata.ts'
import type { AnswerShape } from '../../core/records/present.ts'
import { declarationsOf } from './kind-declarations.ts'
import type { listShapes, tenantQuery } from './paging.ts'

/** The parameters in the path of one resource of a kind, its ancestors' among them. */
type Names<K> = K extends { param: infer P extends string }
  ? P | NamesOutside<K>
  : (K extends { kind: infer N extends string } ? `${N}Name` : never) | NamesOutside<K>

type NamesOutside<K> = K extends { parent: infer P extends KindFace } ? Names<P> : never

type Params<N extends string> = s.ZodMiniObject<{ [K in N]: s.ZodMiniString<string> }>
type Tenant = typeof tenantQuery
type Flag<N extends string> = s.ZodMiniObject<Tenant & { [K in N]: ReturnType<typeof flag> }>
type Nullish<S extends Shape> = s.ZodMiniOptional<s.ZodMiniNullable<S>>
type Body<K> = s.ZodMiniObject<{
  metadata: Nullish<typeof metadataInput>
  spec: Nullish<K extends { spec: infer S extends Shape } ? S : Shape>
}>
type Page<K> = s.ZodMiniUnion<
  readonly [
    s.ZodMiniObject<{
      data: s.ZodMiniArray<AnswerShape<K>>
      meta: s.ZodMiniObject<{
        hasMore: s.ZodMiniBoolean
        nextCursor: s.ZodMiniString<string>
        total: ReturnType<typeof s.int>
      }>
    }>,
    s.ZodMiniArray<AnswerShape<K>>,
  ]
>

/** Endpoints of a kind with the common form. */
type Declared<K> = {
  readonly list: Route<Params<NamesOutside<K>>, s.ZodMiniObject<Tenant & typeof listShapes>, s.ZodMiniUnknown, Page<K>>
  readonly create: Route<Params<NamesOutside<K>>, Flag<'createIfNotExist'>, Body<K>, AnswerShape<K>>
  readonly byExternalId: Route<
    Params<NamesOutside<K> | 'externalId'>,
    s.ZodMiniObject<Tenant>,
    s.ZodMiniUnknown,
    AnswerShape<K>
  >
  readonly get: Route<Params<Names<K>>, Flag<'show_secrets'>, s.ZodMiniUnknown, AnswerShape<K>>
  readonly update: Route<Params<Names<K>>, s.ZodMiniObject<Tenant>, Body<K>, AnswerShape<K>>
  readonly remove: Route<Params<Names<K>>, s.ZodMiniObject<Tenant>, s.ZodMiniUnknown, AnswerShape<K>>
}

type ActionNames<K> = K extends { actions: readonly { readonly name: infer N extends string }[] } ? N : never

/** Actions on a record that answer it. */
type DeclaredActions<K> = {
  readonly [N in ActionNames<K>]: Route<Params<Names<K>>, s.ZodMiniObject<Tenant>, s.ZodMiniUnknown, AnswerShape<K>>
}

/** What a client needs to ask for resources of the kind. */
export const declareKind = <K extends KindFace>(face: K): Declared<K> & DeclaredActions<K> =>
  declarationsOf(defineKind(face)) as unknown as Declared<K> & DeclaredActions<K>
