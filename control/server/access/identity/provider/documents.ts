/** Which documents of clients are fetched, how often, and nothing else. */
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Clock } from '../../../../../shared/clock.ts'
import { isError } from '../../../../../shared/errors.ts'
import { createAttempts } from '../passwords.ts'
import { documentFetch, type DocumentConfig } from './client-document.ts'

export interface Documents {
  /** Whether the document of a client is fetched for who asks. */
  allow(ctx: Pick<KoaContextWithOIDC, 'req'>, clientId: string): boolean
  /** Rejects for all that was not allowed: a client would have the library ask anybody anything. */
  get(url: string | URL): Promise<Response>
}

/** In a quarter of an hour, from one place and of all. */
const [mostFrom, mostOfAll] = [30, 300]

/** The library asks for a document right after it was told that it may; two that sign in at once ask twice for the same one. */
const allowedMs = 30_000

export const createDocuments = (config: DocumentConfig, clock: Pick<Clock, 'now'>): Documents => {
  const attempts = createAttempts(clock)
  const allowedUntil = new Map<string, number>()
  const ask = documentFetch(config)
  return {
    allow({ req }, clientId) {
      try {
        attempts.begin(`from ${req.socket.remoteAddress}`, mostFrom)
        attempts.begin('all', mostOfAll)
      } catch (error) {
        if (isError(error, 'too_many_attempts')) return false
        throw error
      }
      const now = clock.now()
      for (const [id, until] of allowedUntil) if (until < now) allowedUntil.delete(id)
      allowedUntil.set(clientId, now + allowedMs)
      return true
    },
    async get(url) {
      if ((allowedUntil.get(String(url)) ?? 0) < clock.now())
        throw new Error('only documents that describe a client are fetched')
      return ask(url)
    },
  }
}
