/** The query parameters of listings. Empty values count as absent, as clients send them. */
import { flag, intText, s, text, type Out, type Shape } from '../../../shared/schema.ts'
import { statusesOf, type Kind } from '../../core/records/kind.ts'

const filled = <S extends Shape>(shape: S) =>
  s.optional(
    s.pipe(
      s.transform((value: unknown) => (value === '' ? undefined : value)),
      s.optional(shape),
    ),
  )

/** Selects the tenant; every call takes it. */
export const tenantQuery = { workspace: s.optional(s.string()) }

export const listShapes = {
  /** Above the most that a page may have is read as that. */
  limit: intText(1),
  offset: intText(0),
  cursor: filled(text(4096)),
  sort: filled(s.enum(['createdAt:desc', 'createdAt:asc', 'name:asc', 'name:desc'])),
  q: filled(text(200)),
  status: filled(text(1024)),
  anchor: filled(s.enum(['end'])),
  externalId: filled(text(64)),
  showTerminated: s.optional(flag()),
  type: filled(text(63)),
  sandbox: filled(text(63)),
}

/** What the listing of a kind can be asked; what the kind does not have is not asked for. */
const asks: Readonly<Record<keyof typeof listShapes, (kind: Kind) => boolean>> = {
  limit: ({ paginated }) => paginated,
  offset: ({ olderOffset }) => olderOffset,
  cursor: ({ paginated }) => paginated,
  sort: ({ paginated }) => paginated,
  q: ({ paginated }) => paginated,
  status: kind => kind.paginated && kind.filtersStatus && statusesOf(kind).length > 0,
  anchor: ({ paginated, anchored }) => paginated && anchored,
  externalId: ({ byExternalId }) => byExternalId,
  showTerminated: ({ paginated, hiddenStatuses }) => paginated && hiddenStatuses.length > 0,
  type: ({ types }) => types !== undefined,
  sandbox: ({ listedAcross }) => listedAcross?.inside === true,
}

export type ListAsked = Partial<{ [name in keyof typeof listShapes]: Out<(typeof listShapes)[name]> }>

/** Query of one kind's listing. */
export const listQuery = (kind: Kind) => {
  const names = Object.keys(listShapes) as (keyof typeof listShapes)[]
  const asked = names.filter(name => asks[name](kind)).map(name => [name, listShapes[name]])
  return s.object({ ...tenantQuery, ...(Object.fromEntries(asked) as Partial<typeof listShapes>) })
}
