import { compatible } from './compatible.ts'

/** The router of Hugging Face, in front of those who host its models. */
export const huggingface = compatible({
  type: 'huggingface',
  label: 'Hugging Face',
  base: 'https://router.huggingface.co/v1',
  access: { origin: 'https://huggingface.co', path: '/api/models/{{model}}/auth-check' },
  verified: 'specification',
})
