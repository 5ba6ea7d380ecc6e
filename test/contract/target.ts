/** What the contract suite talks to, and the plain HTTP it talks: exact paths, no tolerance, nothing of our own client. */
import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import type { ProblemOf } from '../support/held.ts'

/** One per-sandbox API to be checked. What differs by design between places is told here, not in copies of a check. */
export interface Target {
  /** Base address without a trailing slash; may hold a path. */
  readonly url: string
  /** Sent with every request: what an existing client always sends. */
  readonly headers: Readonly<Record<string, string>>
  /** Where relative paths of the API begin. */
  readonly workdir: string
  /** An existing absolute directory that checks may fill. */
  readonly scratch: string
  /** A gateway that authenticates is in between. */
  readonly gateway: boolean
  /** Whether a tunnel may be brought up for a moment: the target has a network of its own. */
  readonly ownNetwork: boolean
  /** Holds answers to the document of the API. */
  readonly problemOf?: ProblemOf
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** Parsed when the answer says that it is JSON. Untyped on purpose: checks look at single fields. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface Asked {
  readonly headers?: Readonly<Record<string, string>>
  /** A string or bytes go as they are, anything else as JSON. */
  readonly body?: unknown
  /** Replaces the headers of the target. */
  readonly bare?: boolean
}

/** Far above what anything here takes, so that a busy machine does not look like a defect. */
export const patienceMs = 60_000

/** Sends `path` exactly as it is written: neither slashes nor escapes are touched. */
export const open = async (
  target: Target,
  method: string,
  path: string,
  asked: Asked = {},
): Promise<IncomingMessage> => {
  const base = new URL(target.url)
  const { body } = asked
  const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const sent = request({
    host: base.hostname,
    port: base.port,
    method,
    path: `${base.pathname.replace(/\/$/, '')}${path}`,
    agent: false,
    headers: { ...(asked.bare ? {} : target.headers), ...asked.headers },
  })
  sent.end(raw)
  const [message] = (await once(sent, 'response', { signal: AbortSignal.timeout(patienceMs) })) as [IncomingMessage]
  return message
}

export const ask = async (target: Target, method: string, path: string, asked: Asked = {}): Promise<Answer> => {
  const message = await open(target, method, path, asked)
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece as Buffer)
  const bytes = Buffer.concat(pieces)
  const text = bytes.toString()
  const { headers, statusCode = 0 } = message
  const isJson = (headers['content-type'] ?? '').startsWith('application/json')
  // A downloaded file may be called JSON and be none.
  const parsed = isJson && text !== '' && headers['content-disposition'] === undefined
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const problem = target.problemOf?.(method, path, { status: statusCode, headers: plain, text })
  if (problem) throw new Error(problem)
  return { status: statusCode, headers, bytes, text, body: parsed ? JSON.parse(text) : undefined }
}

/** A name that no other check uses. */
let made = 0
export const fresh = (word: string): string => `${word}-${process.pid}-${++made}`

/** The form that integration suites send: the slash after the family's name is escaped, the others are not. */
export const escaped = (family: string, path: string): string => `/${family}%2F${path.replace(/^\//, '')}`

/** The form that clients send: everything escaped behind the slash. */
export const component = (family: string, path: string): string => `/${family}/${encodeURIComponent(path)}`

/** A multipart/form-data body with the parts in the order given; `filename` makes a part a file. */
export const form = (
  parts: readonly { name: string; value: string | Buffer; filename?: string }[],
): { headers: Record<string, string>; body: Buffer } => {
  const boundary = '----contract-0123456789abcdef'
  const pieces: (string | Buffer)[] = []
  for (const { name, value, filename } of parts) {
    const file = filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: application/octet-stream`
    pieces.push(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`, value, '\r\n')
  }
  pieces.push(`--${boundary}--\r\n`)
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat(pieces.map(piece => Buffer.from(piece as string))),
  }
}

/** What the client sends for bytes: `file` first, then `permissions`, then `path`. */
export const clientUpload = (path: string, bytes: Buffer, permissions = '0644') =>
  form([
    { name: 'file', value: bytes, filename: 'file.bin' },
    { name: 'permissions', value: permissions },
    { name: 'path', value: path },
  ])

/** A stream that is read line by line while it is open, as clients do: split at the newline, nothing forgiven. */
export interface Lines {
  readonly message: IncomingMessage
  /** Waits for a line that `wanted` accepts, among those already there too. Fails when the stream ends before. */
  find(wanted: (line: string) => boolean, what: string): Promise<string>
  /** All that came, when it has ended. */
  readonly ended: Promise<string>
  text(): string
  close(): void
}

export const linesOf = (t: Test, message: IncomingMessage): Lines => {
  let text = ''
  let over = false
  let changed = Promise.withResolvers<void>()
  const wake = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  message.setEncoding('utf8')
  const ended = new Promise<string>((resolve, reject) => {
    message.once('end', () => resolve(text))
    message.once('error', reject)
  }).finally(() => {
    over = true
    wake()
  })
  // A stream that is closed by its reader ends with an error nobody waits for.
  ended.catch(() => undefined)
  message.on('data', (piece: string) => {
    text += piece
    wake()
  })
  t.teardown(() => message.destroy())
  return {
    message,
    ended,
    text: () => text,
    close: () => void message.destroy(),
    async find(wanted, what) {
      const limit = AbortSignal.timeout(patienceMs)
      const late = new Promise<never>((_, reject) =>
        limit.addEventListener('abort', () => reject(new Error(`no ${what} in ${JSON.stringify(text.slice(-2_000))}`))),
      )
      late.catch(() => undefined)
      for (;;) {
        const found = text.split('\n').slice(0, -1).find(wanted)
        if (found !== undefined) return found
        if (over) throw new Error(`the stream ended without ${what}: ${text.slice(-2_000)}`)
        await Promise.race([changed.promise, late])
      }
    },
  }
}

/** Opens a stream; fails unless it is answered with 200. */
export const stream = async (t: Test, target: Target, path: string, asked: Asked & { method?: string } = {}) => {
  const message = await open(target, asked.method ?? 'GET', path, asked)
  t.equal(message.statusCode, 200, `${path} answers`)
  return linesOf(t, message)
}

/** Polls until `look` gives something. */
export const until = async <T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> => {
  for (const end = performance.now() + patienceMs; ; ) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Starts a process, which is killed when the check ends. */
export const started = async (t: Test, target: Target, body: Record<string, unknown>) => {
  const answer = await ask(target, 'POST', '/process', { body })
  if (answer.status === 200)
    t.teardown(() => ask(target, 'DELETE', `/process/${answer.body.pid}/kill`).then(() => undefined))
  return answer
}

/** Runs a command to its end. */
export const run = async (target: Target, command: string, more: Record<string, unknown> = {}) =>
  (await ask(target, 'POST', '/process', { body: { command, waitForCompletion: true, ...more } })).body
