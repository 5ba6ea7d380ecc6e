/** An HTTP server on loopback that stands in for somebody else's, and remembers what it was asked. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface StandIn {
  readonly url: string
  readonly asked: Asked[]
}

/** Answers with `answer(asked, response, nth)`; gone when the test ends. */
export const standIn = async (
  t: Test,
  answer: (asked: Asked, response: ServerResponse, nth: number) => void,
): Promise<StandIn> => {
  const asked: Asked[] = []
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = request
    const one = { method, path, headers, body: await text(request) }
    asked.push(one)
    answer(one, response, asked.length)
  }
  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/** Answers JSON. */
export const answerJson = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
