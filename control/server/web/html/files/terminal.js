// The terminal's page: one socket to a session, again and again until the sandbox is gone.
const query = new URLSearchParams(location.search)
const terminal = new Terminal({ cursorBlink: true, fontSize: 14, scrollback: 10000, allowProposedApi: true })
const fit = new FitAddon.FitAddon()
terminal.loadAddon(fit)
terminal.loadAddon(new WebLinksAddon.WebLinksAddon())
terminal.loadAddon(new Unicode11Addon.Unicode11Addon())
terminal.unicode.activeVersion = '11'
terminal.open(document.getElementById('terminal'))
fit.fit()

let socket
let waitMs = 500
// What a key does when nothing is connected: undefined while a connection is there or being made.
let onKey

const say = text => terminal.write(`\r\n\x1b[2m[${text}]\x1b[0m\r\n`)
const end = (text, next) => {
  say(text)
  document.title = `${document.getElementById('terminal').dataset.name} (ended)`
  onKey = next
}

const address = () => {
  const url = new URL(`${location.pathname.replace(/\/+$/, '')}/ws`, location.href)
  url.searchParams.set('cols', terminal.cols)
  url.searchParams.set('rows', terminal.rows)
  url.searchParams.set('sessionId', query.get('sessionId') || 'default')
  for (const name of ['shell', 'workingDir']) if (query.get(name)) url.searchParams.set(name, query.get(name))
  return url
}

const again = () => {
  say('disconnected; connecting again')
  setTimeout(connect, waitMs)
  waitMs = Math.min(waitMs * 2, 10000)
}

// A browser does not tell why a socket was refused; the same address without an upgrade does.
const askWhy = async () => {
  const answer = await fetch(address(), { headers: { accept: 'application/json' } }).catch(() => undefined)
  const said = await answer?.json().catch(() => undefined)
  const code = said?.error?.code
  if (code === 'WORKLOAD_NOT_FOUND' || code === 'WORKSPACE_NOT_FOUND') return end('the sandbox is gone')
  if (code === 'FORBIDDEN') return end(said.error.message)
  if (answer?.status === 401) return end('the login is over; press a key to log in again', () => location.reload())
  if (answer?.status === 404 && code === undefined) return end('this sandbox has no terminal')
  again()
}

const connect = () => {
  const url = address()
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  let opened = false
  socket = new WebSocket(url)
  socket.onopen = () => {
    opened = true
    terminal.reset()
  }
  socket.onmessage = event => {
    const message = JSON.parse(event.data)
    if (message.type === 'output') {
      terminal.write(message.data)
      waitMs = 500
    }
    if (message.type === 'error') terminal.write(`\r\n\x1b[31m${message.data}\x1b[0m\r\n`)
  }
  socket.onclose = event => {
    if (event.code === 1000) return end('the shell has ended; press a key for another', restart)
    if (opened) return again()
    void askWhy()
  }
}

const restart = () => {
  document.title = document.getElementById('terminal').dataset.name
  connect()
}

const send = message => {
  if (socket && socket.readyState === 1) socket.send(JSON.stringify(message))
}
terminal.onData(data => {
  const next = onKey
  onKey = undefined
  if (next) next()
  else send({ type: 'input', data })
})
terminal.onResize(({ cols, rows }) => send({ type: 'resize', cols, rows }))
addEventListener('resize', () => fit.fit())
connect()
terminal.focus()
