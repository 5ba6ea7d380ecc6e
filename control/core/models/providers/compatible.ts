/** What providers have in common that speak as OpenAI does. */
import { chat, completions, embeddings, responses } from '../dialects/openai.ts'
import { same } from '../translate/same.ts'
import { keyForm, type Provider } from './provider.ts'

export const bearer = { Authorization: 'Bearer {{apiKey}}' } as const

const openAiPaths = {
  '/chat/completions': chat,
  '/completions': completions,
  '/embeddings': embeddings,
  '/responses': responses,
} as const

/** Lists of models as OpenAI answers them. */
const openAiModels = { list: '/models', one: '/models/{model}', ids: 'data', id: 'id' } as const

export const compatible = (given: Pick<Provider, 'type' | 'label' | 'verified'> & Partial<Provider>): Provider => ({
  versions: ['/v1'],
  version: '',
  headers: bearer,
  endpoints: openAiPaths,
  form: keyForm(),
  models: openAiModels,
  translation: same,
  ...given,
})
