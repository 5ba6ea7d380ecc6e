import { chat, embed } from '../dialects/cohere.ts'
import { cohereChat } from '../translate/cohere.ts'
import { bearer } from './compatible.ts'
import { keyForm, type Provider } from './provider.ts'

export const cohere: Provider = {
  type: 'cohere',
  label: 'Cohere',
  base: 'https://api.cohere.com/v2',
  versions: ['/v1', '/v2'],
  version: '/v2',
  headers: bearer,
  endpoints: { '/chat': chat, '/embed': embed },
  form: keyForm(),
  translation: cohereChat,
  verified: 'client',
}
