/**
 * A company's way to the internet, to be run in a network namespace: `node company.ts DIR ADDRESS`. A proxy that opens TLS, and behind
 * it what programs ask for: files of `DIR/www/{host}/`. Prints its address and its authority, then every URL that is asked for.
 */
import { createReadStream, statSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { interceptingProxy } from '../support/intercepting-proxy.ts'

const [dir = '', address = ''] = process.argv.slice(2)

const proxy = await interceptingProxy(
  dir,
  (url, _message, response) => {
    console.log(url.href)
    const path = join(dir, 'www', url.hostname, normalize(url.pathname))
    const file = [path, join(path, 'index')].find(one => statSync(one, { throwIfNoEntry: false })?.isFile())
    response.writeHead(file ? 200 : 404, {
      'content-type': url.pathname.startsWith('/simple') ? 'text/html' : 'application/json',
    })
    if (file) createReadStream(file).pipe(response)
    else response.end('{}')
  },
  address,
)
console.log(JSON.stringify({ url: proxy.url, caFile: proxy.caFile }))
