/**
 * Cursors of listings: opaque to the caller, tamper-proof, bound to the query they came from, valid for 24 hours.
 *
 *     cursor = base64url(JSON [issuedAt, position]) "." base64url(HMAC-SHA256(key, binding, payload))
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import { readOrCreate } from '../durable.ts'

/** What a cursor belongs to: the listing, the workspace, and every parameter that shapes the answer. */
export type Binding = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Cursors {
  /** Makes the cursor that continues after `position` (any small JSON value). */
  issue(binding: Binding, position: unknown): string
  /** The position. Throws `invalid_argument` (field `cursor`) when altered, older than 24 h or of another query. */
  read(binding: Binding, cursor: string): unknown
}

const maxAgeMs = 24 * 3_600_000

const canonical = (binding: Binding): string =>
  JSON.stringify(
    Object.entries(binding)
      .filter(([, value]) => value !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

const refuse = (reason: string) => fail('invalid_argument', { field: 'cursor', reason })

export const createCursors = (deps: { key: string; clock: Clock }): Cursors => {
  const { key, clock } = deps
  const sign = (binding: Binding, payload: string): Buffer =>
    createHmac('sha256', key).update(canonical(binding)).update('\0').update(payload).digest()
  return {
    issue(binding, position) {
      const payload = Buffer.from(JSON.stringify([clock.now(), position])).toString('base64url')
      return `${payload}.${sign(binding, payload).toString('base64url')}`
    },
    read(binding, cursor) {
      const [payload = '', signature = '', ...rest] = cursor.split('.')
      const given = Buffer.from(signature, 'base64url')
      const expected = sign(binding, payload)
      if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
        throw refuse('is not a cursor of this query (workspace, filters, sort and q must stay the same between pages)')
      const [issuedAt, position] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [number, unknown]
      if (clock.now() - issuedAt > maxAgeMs) throw refuse('is older than 24 hours; start again without a cursor')
      return position
    },
  }
}

/** The signing key of this host's cursors, made on the first start and kept in the data directory. */
export const cursorKey = (dataDir: string, ids: Ids): Promise<string> =>
  readOrCreate(join(dataDir, 'cursor-key'), () => ids.secret(32), ids)
