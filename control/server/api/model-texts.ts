/** What the members of models and of their usage mean. */
import type { Texts } from '../../../shared/http/texts.ts'

const sums = (under: string): Texts => {
  const at = (name: string) => `${under}.${name}`
  return {
    [at('requests')]: ['Calls that were let in', 12],
    [at('inputTokens')]: ['Tokens that were sent, those from a cache included', 3400],
    [at('outputTokens')]: ['Tokens that were answered, those that were only thought included', 560],
    [at('totalTokens')]: ['Both together', 3960],
    [at('estimatedTokens')]: ['Of all, the tokens of calls whose provider did not tell all counts', 0],
    [at('estimated')]: ['Whether some are estimated', false],
    [at('cachedTokens')]: ['Of the input, tokens that came from a cache of the provider', 0],
    [at('reasoningTokens')]: ['Of the output, tokens that were only thought', 0],
    [at('errors')]: ['Calls that failed: refused by the provider, cut, or not answered', 1],
    [at('costUsd')]: ['US dollars, of the calls whose price is known', 0.0123],
  }
}

export const modelTexts: Texts = {
  fallbacks: ['Models that are asked, in this order, when this one fails before it has answered', []],
  retries: ['How often it is asked again, 0 to 5, when it fails before it has answered', 0],
  ...sums('summary'),
  ...sums('data'),
  ...sums('timeseries'),
  'summary.ttftMs': ['Milliseconds from the start of a call to the first byte of its answer', { p50: 180, p99: 900 }],
  'ttftMs.p50': ['Half of the calls took at most so long', 180],
  'ttftMs.p99': ['99 of 100 calls took at most so long', 900],
  'summary.unrecorded': ['Calls on this host whose usage is not written down, because the store fails', 0],
  'data.key': ['Id of the key that called', '6f1c9b52-3d1e-4c0e-9f5c-0c8a3d1f2b44'],
  'data.keyName': ['Name of the key', 'laptop'],
  'data.model': ['Model that served: another one than was called, where that failed', 'gpt'],
}
