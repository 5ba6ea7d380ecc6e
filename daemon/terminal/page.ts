/** The terminal's page: one self-contained document, since a sandbox may not reach a CDN. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const script = String.raw`
const query = new URLSearchParams(location.search)
const terminal = new Terminal({ cursorBlink: true, fontSize: 14, scrollback: 10000 })
const element = document.getElementById('terminal')
terminal.open(element)
const cell = () => {
  const { width, height } = terminal._core._renderService.dimensions.css.cell
  return { cols: Math.max(2, Math.floor(element.clientWidth / width)), rows: Math.max(1, Math.floor(element.clientHeight / height)) }
}
const fit = () => { const { cols, rows } = cell(); terminal.resize(cols, rows) }
fit()
let socket
let waitMs = 500
let over = false
const connect = () => {
  const url = new URL(location.pathname.replace(/\/$/, '') + '/ws', location.href)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  url.searchParams.set('cols', terminal.cols)
  url.searchParams.set('rows', terminal.rows)
  url.searchParams.set('sessionId', query.get('sessionId') || 'default')
  for (const name of ['token', 'shell', 'workingDir']) if (query.get(name)) url.searchParams.set(name, query.get(name))
  socket = new WebSocket(url)
  socket.onopen = () => terminal.reset()
  socket.onmessage = event => {
    const message = JSON.parse(event.data)
    if (message.type === 'output') { terminal.write(message.data); waitMs = 500 }
    if (message.type === 'error') terminal.write('\r\n\x1b[31m' + message.data + '\x1b[0m\r\n')
  }
  socket.onclose = event => {
    over = event.code === 1000
    if (over) return terminal.write('\r\n\x1b[2m[the shell has ended; press a key for another]\x1b[0m\r\n')
    terminal.write('\r\n\x1b[2m[disconnected; connecting again]\x1b[0m\r\n')
    setTimeout(connect, waitMs)
    waitMs = Math.min(waitMs * 2, 10000)
  }
}
const send = message => { if (socket && socket.readyState === 1) socket.send(JSON.stringify(message)) }
terminal.onData(data => { if (over) { over = false; connect() } else send({ type: 'input', data }) })
terminal.onResize(({ cols, rows }) => send({ type: 'resize', cols, rows }))
addEventListener('resize', fit)
connect()
terminal.focus()
`

/** A script in a page must not contain the end tag of its element. */
const inert = (code: string): string => code.replaceAll('</script', '<\\/script')

/** Where xterm.js is: among the packages, or beside the CommonJS bundle, which has no import.meta. */
const xtermDirectory = (): string =>
  import.meta.dirname === undefined
    ? join(__dirname, 'xterm')
    : join(import.meta.dirname, '../../node_modules/@xterm/xterm')

/** The HTML of the page. */
export const terminalHtml = (): string => {
  const read = (name: string) => readFileSync(join(xtermDirectory(), name), 'utf8')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Terminal</title>
<style>${read('css/xterm.css')}
html, body { margin: 0; height: 100%; background: #000; }
#terminal { height: 100%; }
</style>
</head>
<body>
<div id="terminal"></div>
<script>${inert(read('lib/xterm.js'))}</script>
<script>${inert(script)}</script>
</body>
</html>
`
}
