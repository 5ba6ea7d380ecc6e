/** Morph: `/chat/completions` and `/rerank`, both as in OpenAI's API. */
import { fail } from '../../shared/errors.ts'
import { s } from '../../shared/schema.ts'
import { post, type Endpoint } from './post.ts'
import type { Provider } from './provider.ts'

const completion = s.object({ choices: s.array(s.object({ message: s.object({ content: s.nullable(s.string()) }) })) })
const ranked = s.object({ results: s.array(s.object({ index: s.int(), relevance_score: s.number() })) })

export const createMorph = (endpoint: Endpoint): Provider => ({
  name: 'morphllm',
  async apply({ code, edit, model }, signal) {
    const content = `<code>${code}</code>\n<update>${edit}</update>`
    const body = { model: model || 'auto', messages: [{ role: 'user', content }], stream: false }
    const { choices } = await post(endpoint, '/chat/completions', body, completion, signal)
    const merged = choices[0]?.message.content
    if (!merged) throw fail('unprocessable', { reason: 'codegen provider morphllm: the result is empty' })
    return merged
  },
  async rank({ query, files }, signal) {
    const body = { model: 'morph-rerank-v3', query, documents: files.map(({ content }) => content) }
    const { results } = await post(endpoint, '/rerank', body, ranked, signal)
    return new Map(
      results.flatMap(({ index, relevance_score: score }) => {
        const file = files[index]
        return file ? [[file.path, score] as const] : []
      }),
    )
  },
})
