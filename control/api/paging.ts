/** The query parameters every paged listing takes. Empty values count as absent, as clients send them. */
import { flag, intText, s, text, type Shape } from '../../shared/schema.ts'

const filled = <S extends Shape>(shape: S) =>
  s.optional(
    s.pipe(
      s.transform((value: unknown) => (value === '' ? undefined : value)),
      s.optional(shape),
    ),
  )

/** Selects the tenant; every call takes it. */
export const tenantQuery = { workspace: s.optional(s.string()) }

const pageQuery = {
  ...tenantQuery,
  /** Above 200 is read as 200. */
  limit: intText(1),
  cursor: filled(text(4096)),
  sort: filled(s.enum(['createdAt:desc', 'createdAt:asc', 'name:asc', 'name:desc'])),
  q: filled(text(200)),
  status: filled(text(1024)),
  anchor: filled(s.enum(['end'])),
}

const hiddenQuery = { showTerminated: s.optional(flag()) }
const externalQuery = { externalId: filled(text(64)) }

/** Query of one kind's listing; what the kind does not have is not asked for. */
export const listQuery = (options: { externalId: boolean; hidden: boolean }) =>
  s.object({
    ...pageQuery,
    ...((options.externalId ? externalQuery : {}) as Partial<typeof externalQuery> as typeof externalQuery),
    ...((options.hidden ? hiddenQuery : {}) as Partial<typeof hiddenQuery> as typeof hiddenQuery),
  })
