import { compatible } from './compatible.ts'

export const xai = compatible({ type: 'xai', label: 'xAI', base: 'https://api.x.ai/v1', verified: 'client' })
