/** What is asked of the operator's provider: its issuer, and the addresses that its discovery document names; little, soon, and no further. */
import { fail } from '../../../../../shared/errors.ts'

/** Milliseconds, and bytes of an answer. */
const [longest, mostBytes] = [10_000, 512 * 1024]

type Fetch = (url: string, options: RequestInit) => Promise<Response>

const refuse = (reason: string) => fail('sign_in_failed', { reason })

const bounded = async (body: ReadableStream<Uint8Array>): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.byteLength
    if (size > mostBytes) throw refuse(`answers more than ${mostBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const isLoopback = (url: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)

/** Plain HTTP is for tests on one machine. */
const mayGo = (url: URL): boolean => url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))

/** `allowed` are addresses without query, besides those below the issuer. */
export const providerFetch = (issuer: string, allowed: () => readonly string[]): Fetch => {
  const isAllowed = (url: URL): boolean => {
    const plain = `${url.origin}${url.pathname}`
    return plain.startsWith(`${issuer.replace(/\/$/, '')}/`) || allowed().includes(plain)
  }
  return async (given, options) => {
    const url = new URL(given)
    if (!mayGo(url) || !isAllowed(url)) throw refuse(`leads to ${url.origin}, which its discovery does not name`)
    const signal = AbortSignal.timeout(longest)
    // Only bodies of texts are sent.
    const answer = await fetch(url, { ...options, redirect: 'manual', signal })
    const { status, headers } = answer
    if (status >= 300 && status < 400) throw refuse('answers with a redirect')
    const bytes = answer.body ? await bounded(answer.body) : undefined
    return new Response(status === 204 ? null : bytes, { status, headers })
  }
}
