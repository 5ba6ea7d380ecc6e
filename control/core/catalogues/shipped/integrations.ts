/** Providers that connections can name, and how each wants to be asked. */
import { integrations as providers } from '../../models/integration.ts'
import type { Shipped } from '../catalogues.ts'

export const integrations: Shipped['integrations'] = [
  ...providers,
  // Any other one, at the address that the connection names.
  {
    name: 'custom',
    endpoints: {
      '/chat/completions': {
        method: 'POST',
        token: { sent: 'usage.prompt_tokens', received: 'usage.completion_tokens', total: 'usage.total_tokens' },
      },
    },
    headers: { Authorization: 'Bearer {{apiKey}}' },
  },
]
