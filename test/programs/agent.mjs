/** A small agent: says what it was asked, remembers who it talks to, streams, and waits when it is told to. */
import { createServer } from 'node:http'
const names = new Map()
const read = async request => Buffer.concat(await Array.fromAsync(request))
const pause = ms => new Promise(done => setTimeout(done, ms))
const routes = {
  '/env': () => JSON.stringify(process.env),
  '/version': () => process.env.VERSION ?? '',
  '/pid': () => `${process.env.BOOT ??= String(Math.random())}`,
}
createServer(async (request, response) => {
  const { method, url, headers } = request
  const { pathname, searchParams } = new URL(url, 'http://a')
  if (pathname === '/stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let at = 0; at < Number(searchParams.get('n')); at++) {
      response.write(`data: ${at}\n\n`)
      await pause(Number(searchParams.get('ms') ?? 20))
    }
    return response.end('data: [DONE]\n\n')
  }
  if (pathname === '/wait') await pause(Number(searchParams.get('ms')))
  if (pathname === '/bytes') {
    response.writeHead(201, 'Made', { 'content-type': 'application/octet-stream', 'x-own': 'a', 'x-svc-source': 'me' })
    return response.end(await read(request))
  }
  if (pathname === '/exit') process.exit(Number(searchParams.get('code')))
  if (routes[pathname]) return response.end(routes[pathname]())
  const body = String(await read(request))
  const thread = headers['x-svc-thread-id']
  const said = /I am (\w+)/.exec(body)?.[1]
  if (thread && said) names.set(thread, said)
  if (body.includes('who am I')) return response.end(names.get(thread) ?? 'nobody')
  response.end(JSON.stringify({ method, url, headers, body }))
}).listen(process.env.PORT, process.env.HOST, () => console.log('listens on', process.env.PORT))
