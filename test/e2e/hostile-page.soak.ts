/**
 * A page of a hostile tenant in a real Chromium whose person is signed in, has an open terminal and a neighbour's private preview: what it can
 * reach from a preview, from a port by the sandbox's host name, and from the path forms, which are on the origin of the API.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { chromium, withoutChromium, type Page } from '../support/chromium.ts'
import { freePort } from '../support/keyed.ts'
import { previewHost } from '../support/previews.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(withoutChromium)

t.setTimeout(300_000)

/** Runs in the page; `targets` are addresses. What was tried stands in the title. */
const script = `
const tried = {}
const attempt = async (name, run) => { try { tried[name] = await run() } catch (error) { tried[name] = 'refused: ' + error.name } }
const read = url => fetch(url, { credentials: 'include' }).then(async answer => answer.status + ' ' + (await answer.text()).slice(0, 40))
const framed = url => new Promise(resolve => {
  const frame = document.createElement('iframe')
  frame.onload = () => { try { resolve('read ' + frame.contentDocument.title) } catch (error) { resolve('refused: ' + error.name) } }
  frame.src = url
  document.body.append(frame)
})
const opened = async url => {
  const other = window.open(url)
  if (!other) return 'refused: popup'
  await new Promise(resolve => setTimeout(resolve, 1500))
  try { return 'read ' + other.document.title } finally { other.close() }
}
const socket = url => new Promise(resolve => {
  const one = new WebSocket(url.replace('http', 'ws'))
  one.onopen = () => resolve('open')
  one.onerror = () => resolve('refused: socket')
})
const main = async targets => {
  await attempt('origin', () => self.origin)
  await attempt('cookie', () => document.cookie)
  await attempt('worker', () => navigator.serviceWorker.register('worker.js').then(() => 'registered'))
  await attempt('workerOfAll', () => navigator.serviceWorker.register('worker.js', { scope: '/' }).then(() => 'registered'))
  await attempt('opener', () => window.opener === null ? 'none' : String(window.opener.location.href))
  for (const [name, url] of Object.entries(targets)) {
    await attempt('read ' + name, () => read(url))
    await attempt('frame ' + name, () => framed(url))
    await attempt('open ' + name, () => opened(url))
  }
  await attempt('post neighbour', () => fetch(targets.neighbour + 'changed', { method: 'POST', mode: 'no-cors', credentials: 'include' }).then(() => 'sent'))
  await attempt('socket neighbour', () => socket(targets.neighbour + 'hot'))
  await attempt('post consent', () => fetch(targets.signIn, { method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({ do: 'allow' }) }).then(() => 'sent'))
  document.title = 'tried ' + JSON.stringify(tried)
}
if (location.hash) main(JSON.parse(decodeURIComponent(location.hash.slice(1))))
`

const attacker = async () => {
  const server = createServer(({ url }, response) => {
    const isWorker = url?.startsWith('/worker.js')
    response.setHeader('content-type', isWorker ? 'text/javascript' : 'text/html; charset=utf-8')
    if (isWorker) response.setHeader('service-worker-allowed', '/')
    response.end(isWorker ? '' : `<!doctype html><title>attacker</title><body><script>${script}</script>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

t.test('whatever a hostile page tries, it stays a stranger', async t => {
  const port = await freePort()
  const s = await previewHost(t, {
    config: {
      port,
      publicUrl: `http://hutch.test:${port}`,
      previewDomain: 'previews.test',
      sandboxDomain: 'boxes.test',
    },
  })
  const seen: string[] = []
  const neighbourApp = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.setHeader('content-type', 'text/html')
    response.end('<title>secret of a neighbour</title>')
  }).listen(0, '127.0.0.1')
  await once(neighbourApp, 'listening')
  t.teardown(() => {
    neighbourApp.closeAllConnections()
    neighbourApp.close()
  })
  const evilPort = await attacker()
  const neighbour = await s.preview('neighbour', { port: (neighbourApp.address() as AddressInfo).port, public: false })
  const evil = await s.preview('evil', { port: evilPort })
  const token = await s.token('neighbour')
  const link = async (body: object) => (await s.api('POST', '/sandboxes/web/links', body)).body.url as string
  const boxOrigin = `http://sbx-web-default.local.boxes.test:${port}`
  const browser = await chromium(t, [
    '--host-resolver-rules=MAP *.test 127.0.0.1',
    '--disable-popup-blocking',
    // As with TLS: without it there are no workers at all, and nothing would be tried.
    `--unsafely-treat-insecure-origin-as-secure=${new URL(evil.address).origin},${boxOrigin},http://hutch.test:${port}`,
  ])

  const person = await browser.page()
  t.equal(await person.goto(`${neighbour.address}/?svc_preview_token=${token}`), 200)
  t.equal(await person.goto(`${neighbour.address}/`), 200, 'the person is let in by a cookie')
  const terminal = await link({})
  await person.goto(terminal)
  const authorize = `http://hutch.test:${port}/v0/oauth/authorize?${new URLSearchParams({
    client_id: 'svc',
    response_type: 'code',
    redirect_uri: 'http://127.0.0.1:7777/callback',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })}`
  await person.goto(authorize)
  const signIn = await person.eval<string>('location.href')
  t.match(signIn, /\/v0\/oauth\//, 'and has begun to sign in')

  const targets = {
    neighbour: `${neighbour.address}/`,
    terminal: new URL('/default/sandboxes/web/terminal', terminal).href,
    api: `http://hutch.test:${port}/v0/sandboxes`,
    signIn,
  }
  const visit = async (page: Page, address: string): Promise<Record<string, string>> => {
    await page.goto(`${address}#${encodeURIComponent(JSON.stringify(targets))}`)
    await page.until(`document.title.startsWith('tried')`)
    return JSON.parse((await page.eval<string>('document.title')).slice('tried '.length)) as Record<string, string>
  }
  /** The same page, once more: it was loaded with a header that nothing else of it is to have. */
  const again = async (page: Page): Promise<Record<string, string>> => {
    await page.eval(`main(${JSON.stringify(targets)}), undefined`)
    await page.until(`document.title.startsWith('tried')`)
    return JSON.parse((await page.eval<string>('document.title')).slice('tried '.length)) as Record<string, string>
  }
  const judge = (tried: Record<string, string>, where: string) => {
    for (const name of Object.keys(targets))
      for (const way of ['read', 'frame', 'open'])
        t.match(tried[`${way} ${name}`], /^refused|^40[13] /, `${where}: ${way} ${name}`)
    t.match(tried['opener'], /^none|^refused/)
    t.match(tried['socket neighbour'], /^refused/, `${where}: socket of the neighbour`)
  }

  await t.test('from a preview, whose origin is its own', async t => {
    seen.length = 0
    const tried = await visit(await browser.page(person), `${evil.address}/`)
    judge(tried, 'preview')
    t.equal(tried['origin'], new URL(evil.address).origin)
    t.equal(tried['worker'], 'registered', 'what is its own it may have')
    t.same(
      seen.filter(one => !/^GET \/(favicon\.ico)?$/.test(one)),
      [],
      'nothing was changed at the neighbour, whose cookie the browser sends',
    )
  })

  await t.test('from a port by the name of the sandbox', async t => {
    seen.length = 0
    const page = await browser.page(person)
    t.equal(await page.goto(await link({ port: evilPort })), 200)
    const tried = await again(page)
    judge(tried, 'port')
    t.match(tried['origin'], /boxes\.test/)
    t.match(tried['workerOfAll'], /^refused/, 'the daemon and other ports are of the same origin')
    t.same(
      seen.filter(one => !/^GET \/(favicon\.ico)?$/.test(one)),
      [],
    )
  })

  await t.test('from the path form of a preview and of a port', async t => {
    await s.preview('evil-by-path', { port: evilPort })
    const id = new URL((await s.api('GET', '/sandboxes/web/previews/evil-by-path')).body.spec.url).hostname.split(
      '.',
    )[0]
    const byPath = `http://hutch.test:${port}/default/previews/${id}/`
    for (const [where, address, header] of [
      ['preview by path', byPath, undefined],
      [
        'port by path',
        `http://hutch.test:${port}/default/sandboxes/web/port/${evilPort}/`,
        `Bearer ${s.host.first.adminKey}`,
      ],
    ] as const) {
      seen.length = 0
      const page = await browser.page(person)
      if (header) await page.withHeader('x-svc-authorization', header)
      t.equal(await page.goto(address), 200, where)
      await page.withHeader()
      const tried = await again(page)
      judge(tried, where)
      t.equal(tried['origin'], 'null', 'an origin that nobody else has')
      t.match(tried['cookie'], /^refused/)
      t.match(tried['worker'], /^refused/)
      t.same(
        seen.filter(one => !/^GET \/(favicon\.ico)?$/.test(one)),
        [],
      )
    }
  })
})
