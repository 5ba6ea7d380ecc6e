/** The kind of the records that machines made ahead of need belong to, while they are nobody's. */
export const poolKind = 'warm-pool'
