/** Daemons whose processes end with the test, and streams that can be read while they are open. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get, request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import './native.ts'
import { daemon, daemonServer, type Options, type TestDaemon } from './daemon.ts'

export const generousMs = 60_000

/** Ends whatever the daemon still runs before it is closed. */
const endAll = async ({ call }: TestDaemon): Promise<void> => {
  const { status: answered, body, text } = await call('GET', '/process')
  if (answered !== 200) throw new Error(`the list of processes cannot be had: ${text}`)
  for (const { pid, completedAt } of body) if (completedAt === null) await call('DELETE', `/process/${pid}/kill`)
}

/** `daemon(t)`, without processes left behind. */
export const processDaemon = async (t: Test, options: Options = {}): Promise<TestDaemon> => {
  const made = await daemon(t, options)
  // Without a socket nothing else keeps Node from ending while a process is waited for.
  const awake = setInterval(() => {}, generousMs)
  t.teardown(() => clearInterval(awake))
  t.teardown(() => endAll(made))
  return made
}

export const processServer = async (t: Test, options: Options = {}) => {
  const made = await daemonServer(t, options)
  t.teardown(() => endAll(made))
  return made
}

/** Directories for several daemons one after the other; `daemon(t)` would empty its own. */
export const keptDirs = (t: Test): { root: string; env: Record<string, string> } => {
  const root = mkdtempSync(join(tmpdir(), 'hutch-processes-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  return { root, env: { SANDBOX_LOG_DIR: join(root, 'logs'), HUTCH_STATE_DIR: join(root, 'state') } }
}

/** Looks until `found` gives something; fails after a generous time. */
export const until = async <T>(
  what: string,
  found: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> => {
  const deadline = performance.now() + generousMs
  for (;;) {
    const value = await found()
    if (value !== undefined && value !== false) return value
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** An answer that is read as it comes. */
export interface Open {
  readonly message: IncomingMessage
  readonly text: () => string
  /** Resolves when the text so far matches; fails when the stream ends before. */
  readonly seen: (pattern: RegExp) => Promise<string>
  readonly ended: Promise<string>
  readonly close: () => void
}

const reading = (message: IncomingMessage): Open => {
  let text = ''
  let over = false
  message.setEncoding('utf8')
  message.on('data', piece => (text += piece))
  const ended = once(message, 'end').then(
    () => text,
    error => {
      throw error
    },
  )
  ended.then(
    () => (over = true),
    () => (over = true),
  )
  return {
    message,
    text: () => text,
    seen: pattern =>
      until(`${pattern} in ${JSON.stringify(text.slice(-200))}`, () => {
        if (pattern.test(text)) return text
        if (over) throw new Error(`the stream ended without ${pattern}: ${text.slice(-500)}`)
        return undefined
      }),
    ended,
    close: () => message.destroy(),
  }
}

/** Opens a GET and reads it as it comes. */
export const openGet = async (t: Test, url: string, headers: Record<string, string> = {}): Promise<Open> => {
  const asked = get(url, { headers, agent: false })
  const [message] = (await once(asked, 'response')) as [IncomingMessage]
  t.teardown(() => message.destroy())
  return reading(message)
}

/** The same for a POST with a JSON body. */
export const openPost = async (
  t: Test,
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Open> => {
  const asked = request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    agent: false,
  })
  asked.end(JSON.stringify(body))
  const [message] = (await once(asked, 'response')) as [IncomingMessage]
  t.teardown(() => message.destroy())
  return reading(message)
}

export const events = (text: string): { type: string; data?: string; cursor?: number }[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
