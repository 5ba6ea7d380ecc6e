/** A network that opens TLS: with its authority named, programs of a sandbox trust it, without another image. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { company } from '../support/company.ts'
import { interceptingProxy } from '../support/intercepting-proxy.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

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

/** `javac --release 8` of a program that asks for the URL in its argument and prints the status, or what went wrong. */
const javaClass =
  'yv66vgAAADQAPQoAAgADBwAEDAAFAAYBABBqYXZhL2xhbmcvT2JqZWN0AQAGPGluaXQ+AQADKClWBwAIAQAMamF2YS9uZXQvVVJMCgAHAAoMAAUACwEAFShMamF2YS9sYW5nL1N0cmluZzspVgoABwANDAAOAA8BAA5vcGVuQ29ubmVjdGlvbgEAGigpTGphdmEvbmV0L1VSTENvbm5lY3Rpb247BwARAQAaamF2YS9uZXQvSHR0cFVSTENvbm5lY3Rpb24JABMAFAcAFQwAFgAXAQAQamF2YS9sYW5nL1N5c3RlbQEAA291dAEAFUxqYXZhL2lvL1ByaW50U3RyZWFtOwcAGQEAF2phdmEvbGFuZy9TdHJpbmdCdWlsZGVyCgAYAAMIABwBAAdzdGF0dXMgCgAYAB4MAB8AIAEABmFwcGVuZAEALShMamF2YS9sYW5nL1N0cmluZzspTGphdmEvbGFuZy9TdHJpbmdCdWlsZGVyOwoAEAAiDAAjACQBAA9nZXRSZXNwb25zZUNvZGUBAAMoKUkKABgAJgwAHwAnAQAcKEkpTGphdmEvbGFuZy9TdHJpbmdCdWlsZGVyOwoAGAApDAAqACsBAAh0b1N0cmluZwEAFCgpTGphdmEvbGFuZy9TdHJpbmc7CgAtAC4HAC8MADAACwEAE2phdmEvaW8vUHJpbnRTdHJlYW0BAAdwcmludGxuBwAyAQATamF2YS9sYW5nL0V4Y2VwdGlvbgoALQA0DAAwADUBABUoTGphdmEvbGFuZy9PYmplY3Q7KVYHADcBAANHZXQBAARDb2RlAQAEbWFpbgEAFihbTGphdmEvbGFuZy9TdHJpbmc7KVYBAA1TdGFja01hcFRhYmxlAQAKRXhjZXB0aW9ucwAhADYAAgAAAAAAAgABAAUABgABADgAAAARAAEAAQAAAAUqtwABsQAAAAAACQA5ADoAAgA4AAAAWgAEAAIAAAA5uwAHWSoDMrcACbYADMAAEEyyABK7ABhZtwAaEhu2AB0rtgAhtgAltgAotgAspwALTLIAEiu2ADOxAAEAAAAtADAAMQABADsAAAAHAAJwBwAxBwA8AAAABAABADEAAA=='

/** A Java of this box for the sandbox, which has none. */
const javaHome = ['/usr/lib/jvm/java-17-openjdk-amd64'].find(path => existsSync(path))

t.test(
  'what programs fetch comes through a proxy that opens TLS, and nothing else of the network is needed',
  async t => {
    const dir = t.testdir()
    const outside = await company(t, dir)
    const s = await server(t, {
      HUTCH_CA_FILE: outside.caFile,
      HUTCH_SANDBOX_PROXY: outside.url,
      HUTCH_ALLOW_NETWORKS: outside.network,
    })
    const create = { metadata: { name: 'web' }, spec: { runtime: { image: 'svc/base-image:latest', memory: 2048 } } }
    t.equal((await s.call('POST', '/v0/sandboxes', create)).status, 200)
    const box = `${s.url}/default/sandboxes/web`
    const run = async (command: string): Promise<string> =>
      (await s.call('POST', `${box}/process`, { command, waitForCompletion: true, timeout: 110 })).body.logs
    const fetched: Readonly<Record<string, readonly [string, RegExp, string]>> = {
      curl: ['curl -sS https://example.org/', /hello from outside/, 'https://example.org/'],
      git: [
        'git clone -q https://git.example.org/repo.git /tmp/r && cat /tmp/r/README',
        /cloned/,
        'https://git.example.org/repo.git/HEAD',
      ],
      pip: [
        'pip install -q hutchdemo 2>&1; python3 -c "import hutchdemo; print(hutchdemo.said)"',
        /from a wheel/,
        'https://files.pythonhosted.org/hutchdemo-1.0-py3-none-any.whl',
      ],
      npm: [
        'mkdir -p /tmp/n && cd /tmp/n && npm install hutch-demo 2>&1; node -p "require(`hutch-demo`)"'.replaceAll(
          '`',
          "'",
        ),
        /from a tarball/,
        'https://registry.npmjs.org/hutch-demo/-/hutch-demo-1.0.0.tgz',
      ],
      node: [
        'node -e "fetch(process.argv[1]).then(a => a.text()).then(console.log)" https://example.org/?node',
        /hello from outside/,
        'https://example.org/?node',
      ],
      python: [
        'python3 -c "import urllib.request as r; print(r.urlopen(`https://example.org/?python`).read())"'.replaceAll(
          '`',
          "'",
        ),
        /hello from outside/,
        'https://example.org/?python',
      ],
    }
    for (const [name, [command, wanted, url]] of Object.entries(fetched)) {
      t.match(await run(command), wanted, name)
      t.ok(outside.asked.includes(url), `${name} came by the proxy`)
    }
    if (!javaHome) {
      t.pass('skipped: needs openjdk-17-jre-headless', { skip: 'needs openjdk-17-jre-headless' })
      return
    }
    const jre = join(dir, 'jre.tar')
    execFileSync('tar', [
      '-chf',
      jre,
      '--exclude=lib/security/cacerts',
      '--exclude=src.zip',
      '--exclude=jmods',
      '-C',
      javaHome,
      'bin',
      'lib',
      'conf',
    ])
    const sent = await fetch(`${box}/filesystem//tmp/jre.tar`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${s.key}`, 'content-type': 'application/octet-stream' },
      body: readFileSync(jre),
    })
    t.equal(sent.status, 200)
    await run(`mkdir /opt/java && tar -xf /tmp/jre.tar -C /opt/java && echo ${javaClass} | base64 -d > /tmp/Get.class`)
    t.match(await run('/opt/java/bin/java -cp /tmp Get https://example.org/?java 2>&1'), /status 200/, 'java')
    t.ok(outside.asked.includes('https://example.org/?java'), 'java came by the proxy')
    const plain = 'JAVA_TOOL_OPTIONS="$(echo "$JAVA_TOOL_OPTIONS" | sed "s/-Djavax[^ ]*//g")"'
    t.match(
      await run(`${plain} /opt/java/bin/java -cp /tmp Get https://example.org/ 2>&1`),
      /SSL|trust|security/i,
      'only so',
    )
  },
)
