/** Connections of a client through a proxy, or straight, and the download of a large body. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { serverName, type Internet } from './server.ts'

const run = promisify(execFile)

const tcp = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** A CONNECT that has been accepted. */
const tunnel = async (proxy: number, authority: string): Promise<Socket> => {
  const socket = await tcp(proxy)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  if (!answer.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`no tunnel: ${answer.toString('latin1')}`)
  return socket
}

const secure = async (socket: Socket): Promise<Socket> => {
  // Who signed is not what is measured.
  const secured = connectTls({ socket, servername: serverName, rejectUnauthorized: false })
  await once(secured, 'secureConnect')
  return secured
}

/** Where a TLS connection goes: straight, or by name or address through a proxy. */
export const tlsDialler = (internet: Internet, proxy: number | undefined, host: string) => async (): Promise<Socket> =>
  secure(proxy === undefined ? await tcp(internet.https) : await tunnel(proxy, `${host}:${internet.https}`))

export const plainDialler = (port: number) => () => tcp(port)

/** MB a second of one download with curl. */
export const download = async (internet: Internet, proxy: number | undefined, secureToo: boolean): Promise<number> => {
  const port = secureToo ? internet.https : internet.http
  const straight = ['--resolve', `${serverName}:${port}:127.0.0.1`]
  const { stdout } = await run('curl', [
    '-sS',
    '--insecure',
    '--http1.1',
    '--noproxy',
    proxy === undefined ? '*' : '',
    ...(proxy === undefined ? straight : ['-x', `http://127.0.0.1:${proxy}`]),
    '-o',
    '/dev/null',
    '-w',
    '%{http_code} %{speed_download}',
    `${secureToo ? 'https' : 'http'}://${serverName}:${port}/body`,
  ])
  const [status, speed] = stdout.split(' ')
  if (status !== '200') throw new Error(`the download was answered with ${status}`)
  return Number(speed) / 1e6
}
