import { compatible } from './compatible.ts'

export const cerebras = compatible({
  type: 'cerebras',
  label: 'Cerebras',
  base: 'https://api.cerebras.ai/v1',
  verified: 'client',
})
