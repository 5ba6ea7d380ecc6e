import { compatible } from './compatible.ts'

export const mistral = compatible({
  type: 'mistral',
  label: 'Mistral',
  base: 'https://api.mistral.ai/v1',
  verified: 'client',
})
