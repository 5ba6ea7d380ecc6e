/** Every provider type, by its name. A new one is a descriptor and a line here. */
import { anthropic } from './anthropic.ts'
import { azureAiInference } from './azure-ai-inference.ts'
import { azureMarketplace } from './azure-marketplace.ts'
import { azureOpenAiService } from './azure-openai-service.ts'
import { cerebras } from './cerebras.ts'
import { cohere } from './cohere.ts'
import { deepseek } from './deepseek.ts'
import { gemini } from './gemini.ts'
import { groq } from './groq.ts'
import { hfPrivateEndpoint } from './hf-private-endpoint.ts'
import { hfPublicEndpoint } from './hf-public-endpoint.ts'
import { huggingface } from './huggingface.ts'
import { mcp } from './mcp.ts'
import { mistral } from './mistral.ts'
import { openai } from './openai.ts'
import type { Provider } from './provider.ts'
import { publicModel } from './public-model.ts'
import { vertexai } from './vertexai.ts'
import { xai } from './xai.ts'

export const providers: readonly Provider[] = [
  hfPrivateEndpoint,
  hfPublicEndpoint,
  huggingface,
  publicModel,
  mcp,
  openai,
  anthropic,
  gemini,
  mistral,
  deepseek,
  cohere,
  cerebras,
  xai,
  vertexai,
  azureOpenAiService,
  azureAiInference,
  azureMarketplace,
  groq,
]

const byType = new Map(providers.map(provider => [provider.type, provider]))

export const providerOf = (type: string): Provider | undefined => byType.get(type)
