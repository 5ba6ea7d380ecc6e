/** Headers in which clients of providers send a key as it is. */
import { providers } from './providers/index.ts'

export const keyHeaders: readonly string[] = [
  ...new Set(
    providers.flatMap(({ headers }) =>
      Object.entries(headers).flatMap(([name, template]) => (template === '{{apiKey}}' ? [name.toLowerCase()] : [])),
    ),
  ),
]
