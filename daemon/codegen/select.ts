/** Chooses between the two known providers: the first whose key is set. */
import { fail } from '../../shared/errors.ts'
import type { Config } from '../config/config.ts'
import { createMorph } from './morph.ts'
import type { Provider } from './provider.ts'
import { createRelace } from './relace.ts'

/** Undefined when no key is configured. */
export const selectProvider = ({
  relaceKey,
  relaceUrl,
  morphKey,
  morphUrl,
}: Config['codegen']): Provider | undefined => {
  if (relaceKey !== '') return createRelace({ key: relaceKey, url: relaceUrl })
  if (morphKey !== '') return createMorph({ key: morphKey, url: morphUrl })
  return undefined
}

/** The provider, or `invalid_argument` that says how to get one. */
export const requireProvider = (provider: Provider | undefined): Provider => {
  if (provider) return provider
  const reason = 'codegen tools are not configured; start the sandbox with RELACE_API_KEY or MORPH_API_KEY'
  throw fail('invalid_argument', { field: '', reason })
}
