/**
 * What stands behind the proxies that are compared, and the floor of what Node can serve; in a process of its own.
 * Without arguments it answers every request with the same few bytes, off a bare socket. With a file it answers with
 * that file's bytes as `node:http` would without anything of ours. Sends its port to its parent.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'

const reply = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{"status":"ok"}'

/** Questions have no body: each ends with its head. */
const bare = (): Server =>
  createServer({ noDelay: true }, socket => {
    let rest = ''
    socket.setEncoding('latin1')
    socket.on('error', () => socket.destroy())
    socket.on('data', piece => {
      const heads = (rest + piece).split('\r\n\r\n')
      rest = heads.pop() as string
      if (heads.length > 0) socket.write(reply.repeat(heads.length))
    })
  })

const plain = (path: string): Server => {
  const body = readFileSync(path)
  return createHttpServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
    response.end(body)
  })
}

const [path] = process.argv.slice(2)
const server = path ? plain(path) : bare()
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit(0))
