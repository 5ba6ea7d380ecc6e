import { compatible } from './compatible.ts'
import { keyForm } from './provider.ts'

/** A serverless endpoint that was bought in Azure's marketplace: its connection is tied to one model. */
export const azureMarketplace = compatible({
  type: 'azure-marketplace',
  label: 'Azure marketplace, one model',
  base: 'https://{{endpointName}}/v1',
  form: keyForm(),
  models: undefined,
  verified: 'specification',
})
