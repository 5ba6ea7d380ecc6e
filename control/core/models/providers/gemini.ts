import { embed, generate } from '../dialects/gemini.ts'
import { geminiChat } from '../translate/gemini.ts'
import { keyForm, type Provider } from './provider.ts'

export const gemini: Provider = {
  type: 'gemini',
  label: 'Google Gemini',
  base: 'https://generativelanguage.googleapis.com/v1beta',
  versions: ['/v1beta', '/v1alpha', '/v1'],
  version: '/v1beta',
  headers: { 'x-goog-api-key': '{{apiKey}}' },
  endpoints: {
    '/models/{model}:generateContent': generate,
    '/models/{model}:streamGenerateContent': generate,
    '/models/{model}:embedContent': embed,
    '/models/{model}:batchEmbedContents': embed,
  },
  form: keyForm(),
  models: { list: '/models', one: '/models/{model}', ids: 'models', id: 'name' },
  translation: geminiChat,
  verified: 'client',
}
