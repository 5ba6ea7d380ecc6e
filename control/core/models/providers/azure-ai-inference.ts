import { compatible } from './compatible.ts'
import { keyForm } from './provider.ts'

/** Models of an Azure AI Foundry resource. */
export const azureAiInference = compatible({
  type: 'azure-ai-inference',
  label: 'Azure AI inference',
  base: 'https://{{resource}}.services.ai.azure.com/models',
  headers: { 'api-key': '{{apiKey}}' },
  params: { 'api-version': '{{apiVersion}}' },
  form: keyForm([
    { name: 'resource', label: 'Name of the resource', required: true },
    { name: 'apiVersion', label: 'Version of the API, such as 2024-05-01-preview', required: true },
  ]),
  models: undefined,
  verified: 'specification',
})
