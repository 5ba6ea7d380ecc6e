import { fail } from '../../shared/errors.ts'
import { GatewayError } from '../gateway/errors.ts'
import type { Hold } from './ports.ts'

/** The gateway's hold with failures of the library: `not_found` for a sandbox that is no more, else `unavailable`. */
export const libraryHold =
  (hold: Hold): Hold =>
  async (uid, signal) => {
    try {
      return await hold(uid, signal)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (error.code === 'WORKLOAD_NOT_FOUND') throw fail('not_found', { kind: 'sandbox', name: uid }, error)
      throw fail('unavailable', { what: error.message, next: 'look at its status and errors' }, error)
    }
  }
