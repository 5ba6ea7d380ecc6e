/** A provider of edits and rankings that answers at once, in the words of Relace's API. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Bench } from '../measure.ts'

/** Starts it; the environment that leads a daemon to it. */
export const startProvider = async (bench: Bench): Promise<Record<string, string>> => {
  const server = createServer(async (request, response) => {
    const asked = JSON.parse(String(await buffer(request)))
    const files = (asked.codebase ?? []) as { filename: string }[]
    const answer = request.url?.endsWith('/apply')
      ? { mergedCode: `${asked.initial_code}${asked.edit_snippet}` }
      : { results: files.map(({ filename }) => ({ filename, score: 0.9 })) }
    response.end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  bench.later('provider', () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    RELACE_API_KEY: 'soak',
    RELACE_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
}
