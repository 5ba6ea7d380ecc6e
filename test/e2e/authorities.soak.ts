/** A network that opens TLS: with its authority named, programs of a sandbox trust it, without another image. */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { interceptingProxy } from '../support/intercepting-proxy.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'

const why = whyNoMachines()
if (why) {
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

/** Key and certificate of `localhost`, signed by the authority in `dir`. */
const leaf = (dir: string): string => {
  const request = 'openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout k.pem -out r.csr'
  const sign = 'openssl x509 -req -days 2 -CA ca.crt -CAkey ca.key -CAcreateserial -extfile e -in r.csr -out c.pem'
  const script = `set -e; ${request}; printf 'subjectAltName=DNS:localhost\\n' > e; ${sign}`
  execFileSync('sh', ['-c', script], { cwd: dir, stdio: 'ignore' })
  return execFileSync('cat', ['k.pem', 'c.pem'], { cwd: dir, encoding: 'utf8' })
}

const serving = `import http.server, ssl
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('/srv/both.pem')
server = http.server.ThreadingHTTPServer(('0.0.0.0', 4443), http.server.SimpleHTTPRequestHandler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
`

const url = 'https://localhost:4443'

/** What each program says when it trusts the server, which has neither packages nor anything else. */
const programs: Readonly<Record<string, readonly [string, RegExp]>> = {
  curl: [`curl -sS -o /dev/null -w '%{http_code}' ${url}/`, /^200$/],
  git: [`git ls-remote ${url}/repo.git && echo fine`, /fine/],
  python: [`python3 -c "import urllib.request as r; print(r.urlopen('${url}/').status)"`, /200/],
  node: [`node -e "fetch('${url}/').then(a => console.log(a.status), e => console.log(e.cause))"`, /200/],
  npm: [`npm view x --registry ${url}/ 2>&1`, /E404/],
  pip: [`pip download --no-deps -i ${url}/simple nothing 2>&1`, /No matching distribution/],
  wget: [`wget -q -O /dev/null ${url}/ && echo fine`, /fine/],
  'curl without them': [`env -u CURL_CA_BUNDLE -u SSL_CERT_FILE curl -sS ${url}/ 2>&1`, /certificate problem/],
}

t.setTimeout(180_000)

t.test('programs trust the authority, and know of the proxy', async t => {
  const dir = t.testdir()
  const proxy = await interceptingProxy(dir, (_url, _message, response) => void response.end())
  t.teardown(proxy.close)
  const told = { HUTCH_SANDBOX_PROXY: 'http://proxy.corp:3128', HUTCH_SANDBOX_NO_PROXY: '.corp' }
  const s = await server(t, { HUTCH_CA_FILE: proxy.caFile, ...told })
  const create = { metadata: { name: 'web' }, spec: { runtime: { image: 'svc/base-image:latest', memory: 1024 } } }
  t.equal((await s.call('POST', '/v0/sandboxes', create)).status, 200)
  const box = `${s.url}/default/sandboxes/web`
  const run = async (command: string): Promise<string> =>
    (await s.call('POST', `${box}/process`, { command, waitForCompletion: true, timeout: 60 })).body.logs
  t.match(await run('echo $https_proxy $NO_PROXY'), /^http:\/\/proxy\.corp:3128 localhost,\S*,\.corp$/m)
  for (const [path, content] of [
    ['both.pem', leaf(dir)],
    ['serve.py', serving],
  ])
    await s.call('PUT', `${box}/filesystem//srv/${path}`, { content })
  const begin = 'cd /srv && git init -q --bare repo.git && git -C repo.git update-server-info && exec python3 serve.py'
  t.match(await s.call('POST', `${box}/process`, { command: begin, waitForPorts: [4443], timeout: 0 }), { status: 200 })
  for (const [name, [command, wanted]] of Object.entries(programs)) t.match((await run(command)).trim(), wanted, name)
})
