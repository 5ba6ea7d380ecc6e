/** What people see: the host's pages and applications of a sandbox, in a real Chromium, against a real server. */
import t from 'tap'
import { chromium, withoutChromium, type Page } from '../support/chromium.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(withoutChromium || whyNoMachines())

/** A page of a hostile tenant: what it tries, it writes into its title. */
const hostile = `<script>
const tried = {}
const attempt = async (name, run) => { try { tried[name] = await run() } catch (error) { tried[name] = 'refused: ' + error.name } }
Promise.all([
  attempt('origin', () => self.origin),
  attempt('cookie', () => document.cookie),
  attempt('storage', () => localStorage.length),
  attempt('worker', () => navigator.serviceWorker.register('sw.js').then(() => 'registered')),
  attempt('api', () => fetch('/v0/sandboxes', { credentials: 'include' }).then(answer => answer.status)),
  attempt('terminal', () => fetch('/default/sandboxes/web/terminal', { credentials: 'include' }).then(answer => answer.status)),
]).then(() => { document.title = JSON.stringify(tried) })
</script>`

const screen = `[...document.querySelectorAll('.xterm-rows > div')].map(row => row.textContent).join('\\n')`

t.setTimeout(300_000)

t.test('a browser', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '60' })
  const browser = await chromium(t)
  const local = s.url.replace('127.0.0.1', 'sbx-web-default.local.localhost')
  const box = `${s.url}/default/sandboxes/web`
  const create = { metadata: { name: 'web' }, spec: { runtime: { image: 'svc/base-image:latest', memory: 1024 } } }
  t.equal((await s.call('POST', '/v0/sandboxes', create)).status, 200)
  const link = async (body: object): Promise<string> =>
    (await s.call('POST', '/v0/sandboxes/web/links', body)).body.url as string
  const write = (path: string, content: string) => s.call('PUT', `${box}/filesystem//srv/${path}`, { content })
  await write('index.html', '<title>app</title><h1>an application</h1><script src="port/x.js"></script>')
  await write('hostile.html', hostile)
  await write('sw.js', '')
  const serve = { command: 'cd /srv; exec python3 -m http.server 3000', waitForPorts: [3000], timeout: 0 }
  t.equal((await s.call('POST', `${box}/process`, serve)).status, 200)

  const foreign = (page: Page): string[] =>
    page.requests.filter(url => !/^(?:data:|blob:|about:|chrome)/.test(url) && !url.includes(new URL(s.url).host))

  await t.test('the explorer shows both APIs and calls them, and asks nobody else', async t => {
    const page = await browser.page()
    t.equal(await page.goto(`${s.url}/explorer/`), 200)
    await page.until(`document.body.textContent.includes('Hutch management API')`)
    await page.until(`document.querySelectorAll('.opblock-tag').length > 5`)
    await page.goto(`${s.url}/explorer/?at=/default/sandboxes/web`)
    await page.until(`document.querySelector('[id="operations-tag-process"]')`)
    await page.eval(`document.querySelector('[id="operations-tag-process"]').click()`)
    await page.until(`document.querySelector('[id*="process-process"][id$="list"]')`)
    await page.eval(`document.querySelector('.btn.authorize').click()`)
    await page.until(`document.querySelector('.auth-container input')`)
    await page.eval(`document.querySelector('.auth-container input').focus()`)
    await page.type(s.key)
    await page.eval(`document.querySelector('.auth-btn-wrapper .authorize').click()`)
    await page.eval(`document.querySelector('.btn-done').click()`)
    await page.eval(`document.querySelector('[id*="process-process"][id$="list"] button').click()`)
    await page.until(`document.querySelector('.try-out__btn')`)
    await page.eval(`document.querySelector('.try-out__btn').click()`)
    await page.until(`document.querySelector('.btn.execute')`)
    await page.eval(`document.querySelector('.btn.execute').click()`)
    await page.until(
      `/http.server 3000/.test(document.querySelector('.responses-table.live-responses-table')?.textContent)`,
    )
    t.same(foreign(page), [], 'nobody else was asked')
    t.notOk(
      page.requests.some(url => url.includes(s.key)),
      'the key is in no address',
    )
    t.same(page.complaints, [])
    await page.close()
  })

  await t.test('a terminal: a link opens it once; it has the name of its sandbox and what was typed', async t => {
    const page = await browser.page()
    const url = await link({})
    t.equal(await page.goto(url), 200)
    t.equal(await page.eval('location.href'), `${box}/terminal`)
    t.equal(await page.eval('document.title'), 'web')
    await page.until(`/[#$]/.test(${screen})`)
    await page.type(
      'echo it-is-$((40+2)) 你好; printf "\\\\033[38;2;1;200;3mgreen\\\\033[0m\\\\n"; echo http://example.invalid/\r',
    )
    await page.until(`/it-is-42 你好/.test(${screen})`)
    const green = `[...document.querySelectorAll('.xterm-rows span')].some(one => one.textContent === 'green' && getComputedStyle(one).color === 'rgb(1, 200, 3)')`
    await page.until(green)
    t.ok(await page.eval(`terminal.cols > 80`), 'it fills the window')
    t.equal(await page.eval('document.cookie'), '', 'no script reads the login')
    t.same(page.complaints, [])
    t.same(foreign(page), [])
    const again = await browser.page()
    t.equal(await again.goto(url), 401, 'the link is used up')
    await again.close()
    await page.close()
  })

  await t.test('logging in with a form: first the wrong key, then the right one', async t => {
    const page = await browser.page()
    t.equal(await page.goto(`${box}/terminal`), 401)
    await page.eval(`document.querySelector('a.button').click()`)
    await page.until(`document.querySelector('input[name=key]')`)
    await page.eval(`document.querySelector('input[name=key]').focus()`)
    await page.type('wrong\r')
    await page.until(`document.querySelector('.wrong')`)
    await page.eval(`document.querySelector('input[name=key]').focus()`)
    await page.type(`${s.key}\r`)
    await page.until(`/[#$]/.test(${screen})`)
    t.equal(await page.eval('document.title'), 'web')
    t.notOk(page.requests.some(url => url.includes(s.key)))
    t.same(foreign(page), [])
    await page.close()
  })

  await t.test('an application by its host name, after a login for that port alone', async t => {
    const page = await browser.page()
    t.equal(await page.goto(`${local}/port/3000/`), 401)
    await page.eval(`document.querySelector('a.button').click()`)
    await page.until(`document.querySelector('input[name=key]')`)
    await page.eval(`document.querySelector('input[name=key]').focus()`)
    await page.type(`${s.key}\r`)
    await page.until(`document.title === 'app'`)
    t.equal(await page.eval('location.href'), `${local}/port/3000/`)
    t.equal(await page.eval(`fetch('/health').then(answer => answer.status)`), 401, 'the daemon is not that port')
    t.equal(await page.eval(`fetch('/port/3001/').then(answer => answer.status)`), 401)
    t.equal(await page.eval(`fetch('/port/3000/index.html').then(answer => answer.status)`), 200)
    t.notOk(page.requests.some(url => url.includes(s.key)))
    await page.close()
  })

  await t.test('a hostile page at the origin of the API is nobody there', async t => {
    const victim = await browser.page()
    await victim.goto(await link({}))
    await victim.until(`/[#$]/.test(${screen})`)
    const page = await browser.page(victim)
    // As when a person was led there: the path form, which a browser can only be let in to by a header.
    await page.eval(`document.title`)
    await page.withHeader('x-svc-authorization', `Bearer ${s.key}`)
    t.equal(await page.goto(`${box}/port/3000/hostile.html`), 200)
    await page.withHeader()
    await page.until(`document.title.startsWith('{')`)
    const tried = JSON.parse(await page.eval<string>('document.title')) as Record<string, string | number>
    t.match(tried, { origin: 'null', cookie: /^refused/, storage: /^refused/, worker: /^refused/, api: /^refused|401/ })
    t.match(tried['terminal'], /^refused|401/, 'the login of the visitor is not used')
    await page.close()
    await victim.close()
  })

  await t.test('a terminal stops when its sandbox is gone', async t => {
    const page = await browser.page()
    await page.goto(await link({}))
    await page.until(`/[#$]/.test(${screen})`)
    t.equal((await s.call('DELETE', '/v0/sandboxes/web')).status, 200)
    await page.until(`/the sandbox is gone/.test(${screen})`)
    const asked = page.requests.length
    await page.type('x')
    t.equal(await page.eval('document.title'), 'web (ended)')
    t.equal(page.requests.length, asked, 'nothing more is asked')
    await page.close()
  })
})
