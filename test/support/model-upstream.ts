/** A provider of models on loopback that does what a test tells it to, and writes down what it was asked. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Teardowns } from './server.ts'

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

export type Behaviour = (asked: Asked, response: ServerResponse) => unknown

export interface Upstream {
  readonly origin: string
  readonly asked: Asked[]
  /** What it does from now on. */
  behave(behaviour: Behaviour): void
  /** Connections that were closed by who asked while an answer was under way. */
  readonly left: () => number
  /** Ends every connection at once, as a process does that is killed. */
  kill(): void
  close(): Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const pieces: Buffer[] = []
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces)
}

export const modelUpstream = async (t: Teardowns, first: Behaviour): Promise<Upstream> => {
  let behaviour = first
  let left = 0
  const asked: Asked[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) left++
    })
    bodyOf(request)
      .then(body => {
        const { method = '', url = '', headers, rawHeaders } = request
        const one = { method, url, headers, rawHeaders, body }
        asked.push(one)
        return behaviour(one, response)
      })
      .catch(() => response.destroy())
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const kill = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const close = async () => {
    kill()
    if (server.listening) await new Promise(done => server.close(done))
  }
  t.teardown(close)
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    behave: next => void (behaviour = next),
    left: () => left,
    kill,
    close,
  }
}

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Behaviour =>
  (_asked, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

/** Server-sent events, `betweenMs` apart; ends when they are over. */
export const events =
  (frames: readonly string[], { betweenMs = 0, end = true }: { betweenMs?: number; end?: boolean } = {}): Behaviour =>
  async (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    for (const frame of frames) {
      if (response.destroyed) return
      response.write(frame)
      await new Promise(resolve => setTimeout(resolve, betweenMs))
    }
    if (end) response.end()
  }

const chunk = (choices: object[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`

/** The events of a chat of OpenAI's dialect that says these words. */
export const chatEvents = (words: readonly string[], usage?: object): string[] => [
  chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
  ...words.map(word => chunk([{ index: 0, delta: { content: word }, finish_reason: null }])),
  chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  ...(usage ? [chunk([], { usage })] : []),
  'data: [DONE]\n\n',
]

/** A whole answer of that dialect. */
export const chatAnswer = (text: string, usage?: object) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  ...(usage ? { usage } : {}),
})

/** A count of tokens as that dialect tells it. */
export const used = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})
