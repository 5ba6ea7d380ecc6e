/** Questions to a daemon over connections that end with the round. */
import { once } from 'node:events'
import { Agent, request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'

export type Body = string | Buffer | Readable

export interface Client {
  readonly url: string
  /** The answer as it begins; throws unless it is a success. */
  open(method: string, path: string, body?: Body, headers?: OutgoingHttpHeaders): Promise<IncomingMessage>
  /** Bytes of the answer, read and dropped. */
  drain(method: string, path: string, body?: Body, headers?: OutgoingHttpHeaders): Promise<number>
  /** The answer read as JSON; `body` is sent as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any
  json(method: string, path: string, body?: object, headers?: OutgoingHttpHeaders): Promise<any>
  close(): void
}

const typeOf = (body: Body | undefined): OutgoingHttpHeaders => {
  if (body === undefined) return {}
  return { 'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream' }
}

export const openClient = (url: string): Client => {
  const agent = new Agent({ keepAlive: true })
  const open: Client['open'] = async (method, path, body, headers = {}) => {
    const asked = request(`${url}${path}`, { method, agent, headers: { ...typeOf(body), ...headers } })
    if (body instanceof Readable) body.pipe(asked)
    else asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    if ((answer.statusCode ?? 500) >= 300)
      throw new Error(`${method} ${path}: ${answer.statusCode} ${String(await buffer(answer)).slice(0, 500)}`)
    return answer
  }
  return {
    url,
    open,
    async drain(...asked) {
      let bytes = 0
      for await (const piece of await open(...asked)) bytes += (piece as Buffer).length
      return bytes
    },
    json: async (method, path, body, headers) =>
      JSON.parse(
        String(await buffer(await open(method, path, body === undefined ? undefined : JSON.stringify(body), headers))),
      ),
    close: () => agent.destroy(),
  }
}

/** Runs `task` `count` times, `width` at a time. */
export const many = async (count: number, width: number, task: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await task(next++)
  }
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane))
}
