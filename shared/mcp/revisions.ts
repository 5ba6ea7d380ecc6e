/**
 * The revisions of the protocol that are supported. Those up to 2025-11-25 begin with a handshake (`initialize`); since
 * 2026-07-28 every request names its revision and there is no handshake.
 */
export const handshakeRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
export const latestHandshake = handshakeRevisions[0]
export const modernRevisions = ['2026-07-28'] as const

/** The revision of a request without a version header. */
export const assumedRevision = '2025-03-26'
/** Batches were removed in this revision. */
export const withoutBatches = '2025-06-18'

const isOneOf = (list: readonly string[], version: string): boolean => list.includes(version)

export const isHandshake = (version: string): boolean => isOneOf(handshakeRevisions, version)
export const isModern = (version: string): boolean => isOneOf(modernRevisions, version)
