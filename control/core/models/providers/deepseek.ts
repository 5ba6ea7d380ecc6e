import { compatible } from './compatible.ts'

export const deepseek = compatible({
  type: 'deepseek',
  label: 'DeepSeek',
  base: 'https://api.deepseek.com/v1',
  verified: 'client',
})
