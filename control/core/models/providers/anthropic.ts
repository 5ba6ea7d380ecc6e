import { messages } from '../dialects/anthropic.ts'
import { anthropicChat } from '../translate/anthropic.ts'
import { keyForm, type Provider } from './provider.ts'

export const anthropic: Provider = {
  type: 'anthropic',
  label: 'Anthropic',
  base: 'https://api.anthropic.com/v1',
  versions: ['/v1'],
  version: '/v1',
  headers: { 'x-api-key': '{{apiKey}}' },
  defaults: { 'anthropic-version': '2023-06-01' },
  endpoints: { '/messages': messages },
  form: keyForm(),
  models: { list: '/models', one: '/models/{model}', ids: 'data', id: 'id' },
  translation: anthropicChat,
  verified: 'client',
}
