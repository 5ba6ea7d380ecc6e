/** A real Chromium (Debian's), driven by its own protocol: pages, what they ask for, and what their policy refuses them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import WebSocket from 'ws'
import { until } from './until.ts'

type Json = Record<string, unknown>

export interface Page {
  /** Goes there and waits until it is loaded; gives the status of the document. */
  goto(url: string): Promise<number>
  /** The value of an expression in the page. Throws what it throws. */
  eval<T>(expression: string): Promise<T>
  /** Waits until the expression is true. */
  until(expression: string): Promise<void>
  /** Types into what has the focus; `\r` is the enter key. */
  type(text: string): Promise<void>
  /** Sends a header with every request from now on; none without arguments. */
  withHeader(name?: string, value?: string): Promise<void>
  /** How it looks in a window of that width, as a PNG file. */
  picture(path: string, width: number): Promise<void>
  /** Every URL that the page has asked for, WebSockets too. */
  readonly requests: string[]
  /** What the console and the browser complained of. */
  readonly complaints: string[]
  close(): Promise<void>
}

export interface Chromium {
  /** A page without cookies, or with those of another. */
  page(beside?: Page): Promise<Page>
}

export const chromiumPath = '/usr/bin/chromium'
export const withoutChromium = existsSync(chromiumPath) ? false : 'Debian’s chromium is not installed'

/** One connection for all pages, each with a session of its own. */
const talk = (socket: WebSocket) => {
  let last = 0
  const waiting = new Map<number, PromiseWithResolvers<Json>>()
  const listeners = new Map<string, (method: string, params: Json) => void>()
  socket.on('message', data => {
    const { id, result, error, method, params, sessionId } = JSON.parse(String(data)) as {
      id?: number
      result?: Json
      error?: { message: string }
      method?: string
      params?: Json
      sessionId?: string
    }
    if (id === undefined) return listeners.get(sessionId ?? '')?.(method ?? '', params ?? {})
    const one = waiting.get(id)
    waiting.delete(id)
    if (error) one?.reject(new Error(error.message))
    else one?.resolve(result ?? {})
  })
  return {
    listeners,
    send(method: string, params: Json = {}, sessionId?: string): Promise<Json> {
      const answer = Promise.withResolvers<Json>()
      waiting.set(++last, answer)
      socket.send(JSON.stringify({ id: last, method, params, ...(sessionId ? { sessionId } : {}) }))
      return answer.promise
    },
  }
}

type Talk = ReturnType<typeof talk>

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const contexts = new WeakMap<Page, string>()

const openPage = async ({ send, listeners }: Talk, browserContextId: string): Promise<Page> => {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank', browserContextId })
  const { sessionId } = (await send('Target.attachToTarget', { targetId, flatten: true })) as { sessionId: string }
  const requests: string[] = []
  const complaints: string[] = []
  let status = 0
  let loaded = Promise.withResolvers<void>()
  listeners.set(sessionId, (method, params) => {
    const { request, url, response, type, entry, exceptionDetails, args } = params as Record<string, Json>
    if (method === 'Network.requestWillBeSent') requests.push(textOf(request?.['url']))
    if (method === 'Network.webSocketCreated') requests.push(textOf(url))
    if (method === 'Network.responseReceived' && textOf(type) === 'Document') status = Number(response?.['status'])
    if (method === 'Log.entryAdded') complaints.push(`${textOf(entry?.['text'])} ${textOf(entry?.['url'] ?? '')}`)
    if (method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(exceptionDetails))
    if (method === 'Runtime.consoleAPICalled' && textOf(type) === 'error') complaints.push(JSON.stringify(args))
    if (method === 'Page.loadEventFired') loaded.resolve()
  })
  for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await send(`${domain}.enable`, {}, sessionId)
  const evaluate = async <T>(expression: string): Promise<T> => {
    const options = { expression, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = (await send('Runtime.evaluate', options, sessionId)) as Record<string, Json>
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails))
    return result?.['value'] as T
  }
  const page: Page = {
    requests,
    complaints,
    eval: evaluate,
    async goto(url) {
      loaded = Promise.withResolvers()
      await send('Page.navigate', { url }, sessionId)
      await loaded.promise
      return status
    },
    until: expression =>
      // The page may be on its way to another.
      until(() => evaluate<boolean>(`Boolean(${expression})`).catch(() => false), expression),
    async type(text) {
      for (const key of text)
        if (key === '\r')
          for (const type of ['keyDown', 'keyUp'])
            await send(
              'Input.dispatchKeyEvent',
              { type, key: 'Enter', code: 'Enter', text: '\r', windowsVirtualKeyCode: 13 },
              sessionId,
            )
        else await send('Input.dispatchKeyEvent', { type: 'char', text: key }, sessionId)
    },
    async withHeader(name, value) {
      const headers = name === undefined ? {} : { [name]: value }
      await send('Network.setExtraHTTPHeaders', { headers }, sessionId)
    },
    async picture(path, width) {
      const size = { width, height: 800, deviceScaleFactor: 1, mobile: width < 600 }
      await send('Emulation.setDeviceMetricsOverride', size, sessionId)
      const { data } = await send('Page.captureScreenshot', {}, sessionId)
      writeFileSync(path, Buffer.from(textOf(data), 'base64'))
    },
    close: async () => void (await send('Target.closeTarget', { targetId })),
  }
  contexts.set(page, browserContextId)
  return page
}

/** `more`: further flags. Starts it once; it is gone, with all that it kept, when the test ends. */
export const chromium = async (t: Test, more: readonly string[] = []): Promise<Chromium> => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-chromium-'))
  const flags = [
    ...more,
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-dev-shm-usage',
  ]
  const child = spawn(chromiumPath, [...flags, '--remote-debugging-port=0', `--user-data-dir=${dir}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const gone = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
  })
  let said = ''
  child.stderr.on('data', (piece: Buffer) => void (said += piece.toString()))
  const address = () => /DevTools listening on (ws:\S+)/.exec(said)?.[1]
  await until(async () => address() !== undefined, 'the address that Chromium listens on')
  const socket = new WebSocket(address() as string)
  await once(socket, 'open')
  t.teardown(() => socket.terminate())
  const talking = talk(socket)
  return {
    async page(beside) {
      const known = beside && contexts.get(beside)
      const made = known ?? (await talking.send('Target.createBrowserContext'))['browserContextId']
      return openPage(talking, made as string)
    },
  }
}
