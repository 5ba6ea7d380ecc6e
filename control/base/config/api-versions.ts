/** Date-based stable versions of the management API, oldest first; a request without the header gets the oldest. */
export const apiVersions = ['2026-04-16', '2026-04-28'] as const
export type ApiVersion = (typeof apiVersions)[number]
