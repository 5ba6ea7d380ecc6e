import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import WebSocket from 'ws'
import { daemonServer, type Options } from '../../support/daemon.ts'
import { exchange } from '../../support/raw.ts'
import { open, type } from '../../support/terminal.ts'

const options: Options = { env: { SHELL: '/bin/sh', PS1: '$ ' } }

t.test('a real terminal: a tty of the size asked for, resized later, with TERM set', async t => {
  const { url, dir } = await daemonServer(t, options)
  const terminal = await open(t, url, `?cols=91&rows=17&workingDir=${encodeURIComponent(dir)}`)
  type(terminal, 'test -t 0 && echo is-a-tty-$((40+2)); stty size; pwd; echo T=$TERM\r')
  await terminal.until(/is-a-tty-42[\s\S]*17 91[\s\S]*T=xterm-256color/)
  t.ok(terminal.output().includes(dir))
  terminal.send({ type: 'resize', cols: 120, rows: 40 })
  type(terminal, 'stty size\r')
  await terminal.until(/40 120/)
  terminal.send({ type: 'resize', cols: 0, rows: 5 })
  terminal.send('not json')
  terminal.send({ type: 'dance' })
  type(terminal, 'stty size; echo still-$((1+1))\r')
  await terminal.until(/still-2/)
  t.notMatch(terminal.output().split('still-2')[0]?.slice(-60), /\b5 0\b|\b5 120\b/, 'a zero size is ignored')
})

t.test('control characters reach the foreground process: job control works', async t => {
  const { url } = await daemonServer(t, options)
  const terminal = await open(t, url)
  type(terminal, `sh -c 'echo up-$((1+1)); exec sleep 1000'\r`)
  await terminal.until(/up-2/)
  type(terminal, '\x03')
  type(terminal, 'echo free-$((2+3))\r')
  t.match(await terminal.until(/free-5/), /free-5/)
})

t.test('a session outlives its socket and shows again what was last seen', async t => {
  const { url } = await daemonServer(t, options)
  const first = await open(t, url, '?sessionId=work')
  type(first, 'marker=kept-$((6*7)); echo $marker\r')
  await first.until(/kept-42\r/)
  first.socket.close()
  await once(first.socket, 'close')
  const second = await open(t, url, '?sessionId=work&cols=100&rows=30')
  await second.until(/kept-42/)
  t.match(second.sent[0], { type: 'output', data: /^\x1b\[0m/ })
  type(second, 'echo again=$marker; stty size\r')
  await second.until(/again=kept-42[\s\S]*30 100/)
  const other = await open(t, url, '?sessionId=other')
  type(other, 'echo "other=[$marker]"\r')
  await other.until(/other=\[\]/)
})

t.test('two sockets share a session', async t => {
  const { url } = await daemonServer(t, options)
  const one = await open(t, url)
  const two = await open(t, url)
  type(one, 'echo shared-$((5*5))\r')
  await Promise.all([one.until(/shared-25/), two.until(/shared-25/)])
})

t.test('when the shell exits the socket closes, and the name starts a new shell', async t => {
  const { url } = await daemonServer(t, options)
  const first = await open(t, url)
  type(first, 'x=old\r')
  type(first, 'exit\r')
  await once(first.socket, 'close')
  const second = await open(t, url)
  type(second, 'echo "x=[$x]"\r')
  await second.until(/x=\[\]/)
})

t.test('a shell that cannot be started is said in an error frame, and the socket closes', async t => {
  const { url } = await daemonServer(t, options)
  const terminal = await open(t, url, '?shell=/no/such/shell&sessionId=bad')
  await once(terminal.socket, 'close')
  t.match(terminal.sent, [{ type: 'error', data: /cannot start the terminal.*no\/such\/shell/s }])
})

t.test('characters split between reads come whole', async t => {
  const { url, dir } = await daemonServer(t, options)
  const terminal = await open(t, url)
  type(
    terminal,
    `cd '${dir}'; for i in 1 2 3 4 5 6 7 8 9 10; do printf '%01000d' 0 | sed 's/0/äö😀/g'; done; echo; echo end-$((4+4))\r`,
  )
  await terminal.until(/end-8/)
  t.notOk(terminal.output().includes('\ufffd'))
})

t.test('closing the daemon ends every process of the session, also one that left its group', async t => {
  const { url, dir, close } = await daemonServer(t, options)
  const terminal = await open(t, url)
  type(
    terminal,
    `sh -c 'echo $$ > ${dir}/pid.new; mv ${dir}/pid.new ${dir}/pid; exec sleep 1000' & echo started-$((1+2))\r`,
  )
  await terminal.until(/started-3/)
  while (!existsSync(join(dir, 'pid'))) await new Promise(resolve => setTimeout(resolve, 10))
  const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'))
  t.ok(existsSync(`/proc/${pid}`))
  await close()
  const gone = () => !existsSync(`/proc/${pid}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  for (let i = 0; i < 600 && !gone(); i++) await new Promise(resolve => setTimeout(resolve, 50))
  t.ok(gone())
})

t.test('the page brings everything with it', async t => {
  const { url } = await daemonServer(t, options)
  const page = await fetch(`${url}/terminal`)
  const html = await page.text()
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.match(html, /new Terminal\(/)
  t.notMatch(html, /<(script|link)[^>]+(src|href)=/, 'nothing is loaded from elsewhere')
  t.equal(html.match(/<script>/g)?.length, html.match(/<\/script>/g)?.length)
})

t.test('switched off, there is no terminal', async t => {
  const { url } = await daemonServer(t, { env: { DISABLE_TERMINAL: '1' } })
  t.equal((await fetch(`${url}/terminal`)).status, 404)
  const socket = new WebSocket(`${url.replace('http', 'ws')}/terminal/ws`)
  const [error] = await once(socket, 'error')
  t.match(error, { message: /404/ })
})

t.test('a plain GET of the socket is told what to speak', async t => {
  const { url } = await daemonServer(t, options)
  t.equal((await fetch(`${url}/terminal/ws`)).status, 426)
})

t.test('a handshake that is none is refused in the shape of errors', async t => {
  const { port } = await daemonServer(t, options)
  const asking = (...headers: string[]) =>
    ['GET /terminal/ws HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket', ...headers, '', ''].join(
      '\r\n',
    )
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
  for (const headers of [[], ['Sec-WebSocket-Version: 13'], [key, 'Sec-WebSocket-Version: 99']]) {
    const said = await exchange(t, port, asking(...headers))
    t.match(said, /^HTTP\/1\.1 400 [^]*sec-websocket-version: 13\r\n[^]*\r\n\r\n\{"error":"[^"]+"\}$/, headers.join())
  }
})

t.test('the last output of a shell that ends is read to its end, before the socket closes', async t => {
  const { url } = await daemonServer(t, options)
  const numbers = Array.from({ length: 30_000 }, (_, index) => `${index + 1}\r\n`).join('')
  for (let round = 0; round < 20; round++) {
    const terminal = await open(t, url, `?sessionId=last-${round}`)
    type(terminal, 'seq 1 30000; echo E"N"D; exit\r')
    const [code] = await once(terminal.socket, 'close')
    t.equal(code, 1000)
    t.ok(terminal.output().includes(`${numbers}END\r\n`), `round ${round}: ${terminal.output().slice(-50)}`)
  }
})

t.test('a child that holds the terminal does not keep its sockets open for ever', async t => {
  const { url } = await daemonServer(t, options)
  for (const [child, withinMs] of [
    ['sleep 1000', 1_500],
    ['while :; do echo x; sleep 0.05; done', 6_000],
  ] as const) {
    const terminal = await open(t, url, `?sessionId=held-${withinMs}`)
    type(terminal, `(trap "" HUP; ${child}) & echo $!=child; exit\r`)
    const begun = performance.now()
    await once(terminal.socket, 'close')
    t.ok(performance.now() - begun < withinMs, `${Math.round(performance.now() - begun)} ms`)
    const pid = Number(/(\d+)=child/.exec(terminal.output())?.[1])
    t.ok(pid > 1)
    process.kill(pid, 'SIGKILL')
  }
})

t.test('the name is free while the rest of the output is read', async t => {
  const { url } = await daemonServer(t, options)
  const first = await open(t, url, '?sessionId=same')
  type(first, '(trap "" HUP; sleep 5) & x=old; echo ready-$((1+1)); exit\r')
  await first.until(/ready-2/)
  await new Promise(resolve => setTimeout(resolve, 100))
  const second = await open(t, url, '?sessionId=same')
  type(second, 'echo "x=[$x]"\r')
  await second.until(/x=\[\]/)
})
