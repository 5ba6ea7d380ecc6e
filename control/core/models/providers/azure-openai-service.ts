import { compatible } from './compatible.ts'
import { keyForm } from './provider.ts'

/** One deployment of an Azure OpenAI resource: the model's `endpointName`. */
export const azureOpenAiService = compatible({
  type: 'azure-openai-service',
  label: 'Azure OpenAI Service',
  base: 'https://{{resource}}.openai.azure.com/openai/deployments/{{endpointName}}',
  prefixes: [/^\/openai\/deployments\/[^/]+(?=\/)/, /^\/openai(?=\/)/],
  headers: { 'api-key': '{{apiKey}}' },
  params: { 'api-version': '{{apiVersion}}' },
  form: keyForm([
    { name: 'resource', label: 'Name of the resource', required: true },
    { name: 'apiVersion', label: 'Version of the API, such as 2024-10-21', required: true },
  ]),
  models: undefined,
  verified: 'client',
})
