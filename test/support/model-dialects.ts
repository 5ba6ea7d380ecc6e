/** How each dialect asks for a stream, and what its providers answer. */
import { chatAnswer, chatEvents, used } from './model-upstream.ts'

export interface DialectSample {
  readonly name: string
  readonly type: string
  /** Below the model's address. */
  readonly path: string
  readonly streamPath?: string
  readonly body: object
  /** Events of a stream that says these words, and tells its usage where there is one. */
  events(words: readonly string[], usage?: readonly [input: number, output: number]): string[]
  whole(text: string, usage?: readonly [input: number, output: number]): object
  /** Something that a client of it raises as an error. */
  readonly error: RegExp
  /** It tells counts before its last event. */
  readonly countsEarly?: true
}

const sse = (data: object, event?: string): string =>
  `${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`

const openAiUsage = (usage: readonly [number, number] | undefined) => usage && used(...usage)

const responseOf = (text: string, usage: readonly [number, number] | undefined, status = 'completed') => ({
  id: 'r1',
  object: 'response',
  status,
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
  usage: usage ? { input_tokens: usage[0], output_tokens: usage[1], total_tokens: usage[0] + usage[1] } : null,
})

const say = 'Say what you are told to.'

export const dialects: readonly DialectSample[] = [
  {
    name: 'chat completions',
    type: 'openai',
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [{ role: 'user', content: say }] },
    events: (words, usage) => chatEvents(words, openAiUsage(usage)),
    whole: (text, usage) => chatAnswer(text, openAiUsage(usage)),
    error: /"error":\{"message":"the provider ended/,
  },
  {
    name: 'responses',
    type: 'openai',
    path: '/v1/responses',
    body: { model: 'm', input: say },
    events: (words, usage) => [
      sse({ type: 'response.created', response: responseOf('', undefined, 'in_progress') }, 'response.created'),
      ...words.map(delta => sse({ type: 'response.output_text.delta', delta }, 'response.output_text.delta')),
      // Cut short by a limit: it is over all the same.
      sse(
        { type: 'response.incomplete', response: responseOf(words.join(''), usage, 'incomplete') },
        'response.incomplete',
      ),
    ],
    whole: (text, usage) => responseOf(text, usage),
    error: /event: error\ndata: \{"type":"error","code":"upstream_failed"/,
  },
  {
    name: 'messages',
    type: 'anthropic',
    path: '/v1/messages',
    body: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: say }] },
    events: (words, usage) => [
      sse(
        {
          type: 'message_start',
          message: {
            id: 'a1',
            role: 'assistant',
            content: [],
            usage: usage && { input_tokens: usage[0], output_tokens: 1 },
          },
        },
        'message_start',
      ),
      sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start'),
      ...words.map(text =>
        sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }, 'content_block_delta'),
      ),
      sse({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
      sse(
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          ...(usage ? { usage: { output_tokens: usage[1] } } : {}),
        },
        'message_delta',
      ),
      sse({ type: 'message_stop' }, 'message_stop'),
    ],
    whole: (text, usage) => ({
      id: 'a1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text }],
      ...(usage ? { usage: { input_tokens: usage[0], output_tokens: usage[1] } } : {}),
    }),
    error: /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/,
    countsEarly: true,
  },
  {
    name: 'generateContent',
    type: 'gemini',
    path: '/v1beta/models/m:generateContent',
    streamPath: '/v1beta/models/m:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: say }] }] },
    events: (words, usage) =>
      words.map((text, at) =>
        sse({
          candidates: [
            {
              content: { role: 'model', parts: [{ text }] },
              ...(at === words.length - 1 ? { finishReason: 'STOP' } : {}),
            },
          ],
          ...(usage && at === words.length - 1
            ? { usageMetadata: { promptTokenCount: usage[0], candidatesTokenCount: usage[1] } }
            : {}),
        }),
      ),
    whole: (text, usage) => ({
      candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
      ...(usage ? { usageMetadata: { promptTokenCount: usage[0], candidatesTokenCount: usage[1] } } : {}),
    }),
    error: /data: \{"error":\{"code":502/,
  },
  {
    name: "Cohere's chat",
    type: 'cohere',
    path: '/v2/chat',
    body: { model: 'm', messages: [{ role: 'user', content: say }] },
    events: (words, usage) => [
      sse({ type: 'message-start', id: 'c1', delta: { message: { role: 'assistant', content: [] } } }, 'message-start'),
      ...words.map(text =>
        sse({ type: 'content-delta', index: 0, delta: { message: { content: { text } } } }, 'content-delta'),
      ),
      sse(
        {
          type: 'message-end',
          delta: {
            finish_reason: 'COMPLETE',
            ...(usage ? { usage: { tokens: { input_tokens: usage[0], output_tokens: usage[1] } } } : {}),
          },
        },
        'message-end',
      ),
    ],
    whole: (text, usage) => ({
      id: 'c1',
      message: { role: 'assistant', content: [{ type: 'text', text }] },
      ...(usage ? { usage: { tokens: { input_tokens: usage[0], output_tokens: usage[1] } } } : {}),
    }),
    error: /"finish_reason":"ERROR"/,
  },
]
