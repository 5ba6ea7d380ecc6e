/** What the triggers of a record say of a call, by its path. */
import type { Later } from '../records/server-plane.ts'
import type { Resource } from '../store/store.ts'

interface Trigger {
  readonly type: string
  readonly enabled?: boolean
  readonly configuration?: {
    readonly authenticationType?: string | null
    readonly callbackUrl?: string | null
    readonly callbackSecret?: string | null
    readonly path?: string | null
    readonly retry?: number | null
    readonly timeout?: number | null
  } | null
}

const triggersOf = ({ spec }: Pick<Resource, 'spec'>, type: string): readonly Trigger[] =>
  ((spec['triggers'] ?? []) as readonly Trigger[]).filter(one => one.type === type && one.enabled !== false)

/** With one slash before it and none after; '' for every path. */
const pathOf = ({ configuration }: Trigger): string => {
  const path = (configuration?.path ?? '').replace(/^\/+|\/+$/g, '')
  return path && `/${path}`
}

const isAt = (trigger: Trigger, path: string): boolean => {
  const own = pathOf(trigger)
  return own === '' || path === own || path === `${own}/`
}

/** Whether a trigger lets anybody call at that path. */
export const opensTo = (record: Pick<Resource, 'spec'>, path: string): boolean =>
  ['http', 'http-async'].some(type =>
    triggersOf(record, type).some(one => one.configuration?.authenticationType === 'public' && isAt(one, path)),
  )

/** Seconds that a call takes at most. */
const longestS = 900
/** Attempts of a callback after the first. */
const fewRetries = 3

/** By `?async=true`, or at the path of a trigger for such calls. */
export const laterBy =
  (dimension: string) =>
  (record: Pick<Resource, 'spec'>, path: string, search: URLSearchParams): Later | undefined => {
    const triggers = triggersOf(record, 'http-async')
    const named = triggers.find(one => pathOf(one) !== '' && isAt(one, path))
    if (!named && search.get('async') !== 'true') return undefined
    const { timeout, callbackUrl, callbackSecret, retry } =
      (named ?? triggers.find(one => isAt(one, path)))?.configuration ?? {}
    const callback =
      callbackUrl && callbackSecret
        ? { url: callbackUrl, secret: callbackSecret, retry: retry ?? fewRetries }
        : undefined
    return { timeoutMs: (timeout || longestS) * 1_000, dimension, ...(callback ? { callback } : {}) }
  }
