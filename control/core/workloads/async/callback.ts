/** Tells who has asked for it how a call ended: signed, again and again for a while, at most so long. */
import { createHmac } from 'node:crypto'
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP } from 'node:net'
import { fail, messageOf } from '../../../../shared/errors.ts'
import { checkAddress, guardedLookup } from '../../images/pull/reach.ts'
import type { Answer, StoredCall } from './stored.ts'

export interface CallbackOptions {
  /** The words in our headers: `Svc`. */
  readonly words: readonly string[]
  /** Origins that may be private ones. */
  readonly origins: readonly string[]
}

const attemptMs = 10_000

const bodyOf = ({ status, body, length }: Answer, now: number): string =>
  JSON.stringify({
    status_code: status,
    response_body: body,
    response_length: length,
    timestamp: Math.floor(now / 1000),
  })

const headersOf = ({ words }: CallbackOptions, call: StoredCall, body: string, secret: string, now: number) => {
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const named = words.flatMap(word => [
    [`X-${word}-Signature`, signature],
    [`X-${word}-Timestamp`, String(Math.floor(now / 1000))],
  ])
  return {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    // The same for each attempt.
    'idempotency-key': call.id,
    ...(Object.fromEntries(named) as Record<string, string>),
  }
}

/** Where the URL leads; its address is judged for the very connection that is made. */
const targetOf = (url: URL, { origins }: CallbackOptions) => ({
  hostname: url.hostname.replace(/^\[|\]$/g, ''),
  port: Number(url.port || (url.protocol === 'http:' ? 80 : 443)),
  plain: url.protocol === 'http:',
  isNamed: origins.includes(url.origin),
})

const post = (url: URL, headers: Record<string, string>, body: string, options: CallbackOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    const target = targetOf(url, options)
    if (isIP(target.hostname)) checkAddress(target.hostname, target)
    const request = url.protocol === 'http:' ? plainRequest : secureRequest
    const signal = AbortSignal.timeout(attemptMs)
    const asked = request(url, { method: 'POST', headers, lookup: guardedLookup(target), agent: false, signal })
    asked.on('error', reject)
    asked.on('response', answer => {
      resolve(answer.statusCode ?? 0)
      // What it says besides is nobody's to read.
      answer.destroy()
    })
    asked.end(body)
  })

/** Makes one attempt. Throws `bad_answer` for whatever is not a 2xx. */
export const callBack = async (
  call: StoredCall & { readonly answer: Answer },
  secret: string,
  now: number,
  options: CallbackOptions,
): Promise<void> => {
  const url = new URL(call.callback?.url ?? '')
  const body = bodyOf(call.answer, now)
  let status: number
  try {
    status = await post(url, headersOf(options, call, body, secret, now), body, options)
  } catch (error) {
    throw fail('bad_answer', { from: url.origin, reason: messageOf(error) }, error)
  }
  if (status < 200 || status > 299) throw fail('bad_answer', { from: url.origin, reason: `status ${status}` })
}
