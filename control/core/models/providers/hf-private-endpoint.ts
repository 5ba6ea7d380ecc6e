import { compatible } from './compatible.ts'
import { keyForm } from './provider.ts'

/** A dedicated endpoint of Hugging Face; its host is the model's `endpointName` unless the connection has a `baseUrl`. */
export const hfPrivateEndpoint = compatible({
  type: 'hf_private_endpoint',
  label: 'Hugging Face, a dedicated endpoint',
  base: 'https://{{endpointName}}/v1',
  form: keyForm(),
  verified: 'specification',
})
