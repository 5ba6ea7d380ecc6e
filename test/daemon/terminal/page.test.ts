/** The page's own client, in a stand-in of a browser, against a real socket: when it comes back, and when it waits. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import WebSocket, { WebSocketServer } from 'ws'
import { until } from '../../support/until.ts'
import { terminalHtml } from '../../../daemon/terminal/page.ts'

/** Runs the page's script as at `/terminal{query}` of `port`. */
const openPage = (t: Test, port: number, query: string) => {
  const script = /<script>((?:(?!<\/script>)[^])*)<\/script>\s*<\/body>/.exec(terminalHtml())?.[1] ?? ''
  const written: string[] = []
  let typed: (data: string) => void = () => undefined
  const sockets: WebSocket[] = []
  class Terminal {
    cols = 80
    rows = 24
    _core = { _renderService: { dimensions: { css: { cell: { width: 10, height: 20 } } } } }
    open() {}
    focus() {}
    reset() {
      written.push('<reset>')
    }
    resize(cols: number, rows: number) {
      Object.assign(this, { cols, rows })
    }
    write(text: string) {
      written.push(text)
    }
    onData(listener: (data: string) => void) {
      typed = listener
    }
    onResize() {}
  }
  class PageSocket extends WebSocket {
    constructor(url: URL) {
      super(url)
      sockets.push(this)
      // One that the end of the test cuts short.
      this.on('error', () => undefined)
    }
  }
  let left = false
  t.teardown(() => {
    left = true
    for (const socket of sockets) socket.terminate()
  })
  const href = `http://127.0.0.1:${port}/terminal${query}`
  const location = { href, pathname: '/terminal', protocol: 'http:', search: query }
  const element = { clientWidth: 1000, clientHeight: 400 }
  runInNewContext(script, {
    Terminal,
    WebSocket: PageSocket,
    URL,
    URLSearchParams,
    JSON,
    Math,
    // A page that was left connects no more.
    setTimeout: (run: () => void, ms: number) => left || setTimeout(() => left || run(), ms),
    location,
    document: { getElementById: () => element },
    addEventListener: () => undefined,
  })
  return { written, type: (data: string) => typed(data), sockets }
}

t.test('it comes back to its session when the daemon is replaced, and asks before it starts another shell', async t => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.teardown(() => server.close())
  await once(server, 'listening')
  const next = async () => {
    const [socket, request] = await once(server, 'connection')
    return { socket: socket as WebSocket, url: new URL(request.url, 'http://x') }
  }
  const first = next()
  const page = openPage(t, (server.address() as AddressInfo).port, '?sessionId=work&shell=/bin/sh')
  const one = await first
  t.equal(one.url.pathname, '/terminal/ws')
  const asked = { cols: '100', rows: '20', sessionId: 'work', shell: '/bin/sh' }
  t.match(Object.fromEntries(one.url.searchParams), asked)
  one.socket.send(JSON.stringify({ type: 'output', data: 'hello' }))
  await until(async () => page.written.includes('hello'), 'its output')
  page.type('ls\r')
  t.same(JSON.parse(String((await once(one.socket, 'message'))[0])), { type: 'input', data: 'ls\r' })

  const again = next()
  one.socket.close(1012, 'replaced')
  const two = await again
  t.match(Object.fromEntries(two.url.searchParams), asked, 'the same session')
  t.match(page.written.join(''), /disconnected; connecting again/)
  await until(async () => page.written.filter(text => text === '<reset>').length === 2, 'a screen for the replay')

  const ended = once(page.sockets[1] as WebSocket, 'close')
  two.socket.close(1000, 'the shell ended')
  await ended
  await until(async () => /the shell has ended/.test(page.written.at(-1) ?? ''), 'the notice')
  t.equal(page.sockets.length, 2)
  const third = next()
  page.type('x')
  t.match(Object.fromEntries((await third).url.searchParams), asked)
})
