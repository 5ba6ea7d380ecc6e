import { messages } from '../dialects/anthropic.ts'
import { generate } from '../dialects/gemini.ts'
import { geminiChat } from '../translate/gemini.ts'
import { baseUrlField, type Provider } from './provider.ts'

/** Google's Vertex AI, with a token that a service account's key is exchanged for. */
export const vertexai: Provider = {
  type: 'vertexai',
  label: 'Google Vertex AI',
  base: 'https://{{location}}-aiplatform.googleapis.com/v1/projects/{{project}}/locations/{{location}}/publishers/google',
  versions: ['/v1', '/v1beta1'],
  version: '',
  prefixes: [/^(?:\/v1(?:beta1?)?)?\/(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google(?=\/)/],
  headers: { Authorization: 'Bearer {{accessToken}}' },
  tokenFrom: { secret: 'serviceAccountKey', scope: 'https://www.googleapis.com/auth/cloud-platform' },
  endpoints: {
    '/models/{model}:generateContent': generate,
    '/models/{model}:streamGenerateContent': generate,
    '/models/{model}:rawPredict': messages,
    '/models/{model}:streamRawPredict': messages,
  },
  form: {
    config: [
      { name: 'project', label: 'Project', required: true },
      { name: 'location', label: 'Location, such as us-central1', required: true },
      baseUrlField,
    ],
    secrets: [{ name: 'serviceAccountKey', label: 'JSON key of a service account', required: true }],
  },
  translation: geminiChat,
  verified: 'specification',
}
