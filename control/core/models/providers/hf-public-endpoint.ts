import { compatible } from './compatible.ts'

/** One public model of Hugging Face, by its name. */
export const hfPublicEndpoint = compatible({
  type: 'hf_public_endpoint',
  label: 'Hugging Face, one public model',
  base: 'https://router.huggingface.co/hf-inference/models/{{model}}/v1',
  models: undefined,
  access: { origin: 'https://huggingface.co', path: '/api/models/{{model}}/auth-check' },
  verified: 'specification',
})
