/**
 * What `node:http` does without anything of ours: a file as JSON, read in one call, and an answer that never ends. Takes the
 * directory that it serves; sends its port to its parent.
 */
import { readFile } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const [directory = '/'] = process.argv.slice(2)
const prefix = '/filesystem/'

const server = createServer((request, response) => {
  const url = request.url as string
  if (!url.startsWith(prefix)) {
    response.writeHead(200).flushHeaders()
    return
  }
  readFile(join(directory, url.slice(prefix.length)), 'utf8', (error, content) => {
    if (error) return void response.writeHead(404).end(error.message)
    const body = JSON.stringify({ path: url, content })
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit(0))
