/**
 * What stands behind the proxies that are compared, and the floor of what Node can serve; in a process of its own.
 * Without arguments it answers every request with the same few bytes, off a bare socket. With a file it answers with
 * that file's bytes as `node:http` would without anything of ours, and with what the names of a certificate and its key begin
 * with besides, as `node:http2` would over TLS. With `bodies` and a number it gives and takes that many
 * megabytes. Sends its port to its parent.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createSecureServer, type Http2SecureServer as SecureServer } from 'node:http2'
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

const secure = (path: string, stem: string): SecureServer => {
  const body = readFileSync(path)
  const head = { ':status': 200, 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }
  const server = createSecureServer({ cert: readFileSync(`${stem}.crt`), key: readFileSync(`${stem}.key`) })
  return server.on('stream', stream => {
    stream.respond(head)
    stream.end(body)
  })
}

/** Answers with so many megabytes, and takes as many; off a bare socket, one request at a time. */
const bodies = (megabytes: number): Server => {
  const bytes = megabytes * 1024 * 1024
  const piece = Buffer.alloc(1024 * 1024)
  const head = (length: number) => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`
  return createServer({ noDelay: true }, socket => {
    let left = 0
    const give = (times: number): void => {
      if (times > 0) socket.write(piece, () => give(times - 1))
    }
    socket.on('error', () => socket.destroy())
    socket.on('data', data => {
      const isHead = left === 0
      const body = isHead ? data.length - data.indexOf('\r\n\r\n') - 4 : data.length
      if (isHead && data[0] === 0x47) {
        socket.write(head(bytes))
        return give(megabytes)
      }
      left = (isHead ? bytes : left) - body
      if (left === 0) socket.write(head(0))
    })
  })
}

const [path, more] = process.argv.slice(2)
const ofFile = (file: string) => (more ? secure(file, more) : plain(file))
const server = path === 'bodies' ? bodies(Number(more)) : path ? ofFile(path) : bare()
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit(0))
