import { compatible } from './compatible.ts'

export const groq = compatible({
  type: 'groq',
  label: 'Groq',
  base: 'https://api.groq.com/openai/v1',
  prefixes: ['/openai'],
  verified: 'client',
})
