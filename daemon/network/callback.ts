/** Posts events to an address that a caller gave. */
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

const timeoutMs = 10_000
/** Connections to one address at a time; an address that hangs delays no other. */
const atOnce = 32

export interface Callbacks {
  /** Posts once, without following redirects. Rejects when there is no answer within ten seconds. */
  post(url: string, body: unknown): Promise<void>
  close(): void
}

/** Not by `fetch`, which refuses ports that browsers refuse, such as 6000. */
export const createCallbacks = (): Callbacks => {
  // Made when they are needed: `node:https` loads Node's modules for TLS, 1.4 MB.
  let http: HttpAgent | undefined
  let https: HttpsAgent | undefined
  return {
    post: (url, body) =>
      new Promise((resolve, reject) => {
        const text = JSON.stringify(body)
        const options = {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
          signal: AbortSignal.timeout(timeoutMs),
        }
        const request = url.startsWith('https:')
          ? httpsRequest(url, { ...options, agent: (https ??= new HttpsAgent({ maxSockets: atOnce })) })
          : httpRequest(url, { ...options, agent: (http ??= new HttpAgent({ maxSockets: atOnce })) })
        request.once('error', reject)
        request.once('response', response => {
          // Nobody reads the answer, which may be of any length.
          response.destroy()
          resolve()
        })
        request.end(text)
      }),
    close() {
      http?.destroy()
      https?.destroy()
    },
  }
}
