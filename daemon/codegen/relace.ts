/** Relace: `/v1/code/apply` and `/v2/code/rank`. */
import { fail } from '../../shared/errors.ts'
import { s } from '../../shared/schema.ts'
import { post, type Endpoint } from './post.ts'
import type { Provider } from './provider.ts'

const applied = s.object({ mergedCode: s.string() })
const ranked = s.object({ results: s.array(s.object({ filename: s.string(), score: s.number() })) })

export const createRelace = (endpoint: Endpoint): Provider => ({
  name: 'relace',
  async apply({ code, edit, model }, signal) {
    const named = model && model !== 'auto' ? model : 'relace-apply-3'
    const body = { initial_code: code, edit_snippet: edit, model: named, stream: false }
    const { mergedCode } = await post(endpoint, '/v1/code/apply', body, applied, signal)
    if (mergedCode === '') throw fail('unprocessable', { reason: 'codegen provider relace: the result is empty' })
    return mergedCode
  },
  async rank({ query, files, tokenLimit }, signal) {
    const codebase = files.map(({ path, content }) => ({ filename: path, content }))
    const body = { query, codebase, token_limit: tokenLimit }
    const { results } = await post(endpoint, '/v2/code/rank', body, ranked, signal)
    return new Map(results.map(({ filename, score }) => [filename, score]))
  },
})
