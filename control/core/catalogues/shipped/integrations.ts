/** Providers that connections can name, and how each wants to be asked. */
import type { Shipped } from '../catalogues.ts'

const bearer = { Authorization: 'Bearer {{apiKey}}' }
const chat = {
  method: 'POST',
  token: { sent: 'usage.prompt_tokens', received: 'usage.completion_tokens', total: 'usage.total_tokens' },
}

/** A provider that speaks as OpenAI does. */
const compatible = (name: string, baseUrl: string) => ({
  name,
  endpoints: { '/chat/completions': chat, '/embeddings': { method: 'POST' } },
  headers: bearer,
  additionalInfos: { baseUrl },
})

export const integrations: Shipped['integrations'] = [
  compatible('openai', 'https://api.openai.com/v1'),
  compatible('mistral', 'https://api.mistral.ai/v1'),
  compatible('deepseek', 'https://api.deepseek.com/v1'),
  compatible('groq', 'https://api.groq.com/openai/v1'),
  compatible('xai', 'https://api.x.ai/v1'),
  compatible('cerebras', 'https://api.cerebras.ai/v1'),
  compatible('huggingface', 'https://router.huggingface.co/v1'),
  {
    name: 'anthropic',
    endpoints: {
      '/messages': { method: 'POST', token: { sent: 'usage.input_tokens', received: 'usage.output_tokens' } },
    },
    headers: { 'x-api-key': '{{apiKey}}', 'anthropic-version': '2023-06-01' },
    additionalInfos: { baseUrl: 'https://api.anthropic.com/v1' },
  },
  {
    name: 'cohere',
    endpoints: { '/chat': { method: 'POST' } },
    headers: bearer,
    additionalInfos: { baseUrl: 'https://api.cohere.com/v2' },
  },
  {
    name: 'gemini',
    endpoints: { '/models': { method: 'GET' } },
    headers: { 'x-goog-api-key': '{{apiKey}}' },
    additionalInfos: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta' },
  },
  // Any other one, at the address that the connection names.
  { name: 'custom', endpoints: { '/chat/completions': chat }, headers: bearer },
]
