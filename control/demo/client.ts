/** What the demonstration calls: the public HTTP addresses and nothing else. */

export interface Client {
  /** JSON in and out; throws with the answer's text on any status but 2xx. `target` is a path of the host or a whole URL. */
  json<T>(method: string, target: string, body?: unknown): Promise<T>
  /** The answer's body as it comes, in lines. */
  lines(method: string, target: string, body: unknown, headers?: Record<string, string>): AsyncIterable<string>
}

export const client = (base: string, key: string): Client => {
  const send = async (method: string, target: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(new URL(target, base), {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'svc-version': '2026-04-28',
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${target} answered ${answer.status}: ${await answer.text()}`)
    return answer
  }
  return {
    json: async <T>(method: string, target: string, body?: unknown) =>
      (await (await send(method, target, body)).json()) as T,
    async *lines(method, target, body, headers) {
      const answer = await send(method, target, body, headers)
      let rest = ''
      for await (const piece of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
        const parts = (rest + piece).split('\n')
        rest = parts.pop() ?? ''
        yield* parts
      }
      if (rest) yield rest
    },
  }
}
