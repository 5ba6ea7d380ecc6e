/** The proxies of the page for operators, as they stand there but for ports and files, in front of a host. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { testAuthority } from '../../../support/certificates.ts'
import { freePort } from '../../../support/keyed.ts'
import { previewHost } from '../../../support/previews.ts'
import { until } from '../../../support/until.ts'

const page = readFileSync(new URL('../../../../docs/operation.md', import.meta.url), 'utf8')

const snippet = (language: string): string => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? ''

const answers = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

interface Proxy {
  readonly language: string
  /** Of Debian's package. */
  readonly program: string
  /** The whole configuration around the snippet. */
  readonly around: (snippet: string, dir: string, port: number) => string
  readonly command: (file: string, dir: string) => readonly [string, ...string[]]
}

const proxies: readonly Proxy[] = [
  {
    language: 'caddy',
    program: '/usr/bin/caddy',
    around: (given, _dir, port) => `{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port ${port}\n}\n${given}`,
    command: file => ['/usr/bin/caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
  },
  {
    language: 'nginx',
    program: '/usr/sbin/nginx',
    around: (given, dir, port) =>
      `daemon off; pid ${dir}/pid; error_log stderr; events {}\nhttp { access_log off; client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy;\n${given.replace('443', String(port))}}`,
    command: (file, dir) => ['/usr/sbin/nginx', '-p', dir, '-c', file],
  },
]

const start = async (t: Test, proxy: Proxy, backend: number) => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-proxy-'))
  const authority = testAuthority(dir)
  const names = ['hutch.example.com', '*.local.previews.example.com']
  const { cert, key } = authority.sign(join(dir, 'one'), names)
  const port = await freePort()
  const given = snippet(proxy.language)
    .replaceAll('/etc/hutch/fullchain.pem', cert)
    .replaceAll('/etc/hutch/privkey.pem', key)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${backend}`)
  const file = join(dir, 'configuration')
  writeFileSync(file, proxy.around(given, dir, port))
  const [command, ...args] = proxy.command(file, dir)
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, HOME: dir } })
  t.teardown(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    rmSync(dir, { recursive: true, force: true })
  })
  await until(() => answers(port), proxy.language)
  return { port, ca: authority.ca }
}

for (const proxy of proxies)
  t.test(
    `${proxy.language}: previews by name, what applications see, sockets and streams`,
    { skip: existsSync(proxy.program) ? false : `${proxy.program} is not installed` },
    async t => {
      const s = await previewHost(t, {
        config: { publicUrl: 'https://hutch.example.com', previewDomain: 'previews.example.com' },
      })
      const { port, ca } = await start(t, proxy, s.port)
      // What an application is told of the address, it is told by its proxy.
      const { address } = await s.preview('app', { hostHeader: 'preview' })
      const { hostname: servername } = new URL(address)
      t.match(servername, /\.local\.previews\.example\.com$/)
      const asked = request({
        host: '127.0.0.1',
        port,
        ca,
        servername,
        path: '/a?b',
        headers: { host: servername },
      }).end()
      const [answer] = await once(asked, 'response')
      t.match(JSON.parse(await text(answer)), {
        url: '/a?b',
        headers: { host: servername, 'x-forwarded-host': servername, 'x-forwarded-proto': 'https' },
      })
      const options = { ca, servername, headers: { host: servername } }
      const socket = new WebSocket(`wss://127.0.0.1:${port}/hot`, options as object)
      const [said] = await once(socket, 'message')
      t.match(JSON.parse(String(said)), { url: '/hot' })
      socket.terminate()
      const streaming = request({
        host: '127.0.0.1',
        port,
        ca,
        servername,
        path: '/stream',
        method: 'POST',
        headers: { host: servername },
      })
      streaming.on('error', () => undefined)
      streaming.write('piece')
      t.equal(await s.said('piece'), 'piece', 'a body goes on as it comes')
      streaming.destroy()
      t.equal(await s.said('ended'), 'aborted')
    },
  )
