/**
 * Development servers as their makers configure them, behind a private preview on a domain that they have never heard of, in a real
 * Chromium: the page comes, a change of a file comes without a reload, and forms are taken. What they need comes from npm.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { chromium, withoutChromium } from '../support/chromium.ts'
import { freePort } from '../support/keyed.ts'
import { previewHost } from '../support/previews.ts'
import { skipFile } from '../support/skip-file.ts'
import { until } from '../support/until.ts'

const home = fileURLToPath(new URL('../../.runtime/dev-servers', import.meta.url))
const packages = ['vite@8', 'next@16', 'react@19', 'react-dom@19']

const install = (): string | undefined => {
  if (existsSync(join(home, 'ready'))) return undefined
  try {
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{"private":true}')
    execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: home, stdio: 'ignore' })
    writeFileSync(join(home, 'ready'), '')
    return undefined
  } catch (error) {
    return `npm is needed: ${String(error)}`
  }
}

skipFile(withoutChromium || install())

t.setTimeout(600_000)

/** A project of these files, and its server; both end with the test. */
const serving = async (t: Test, name: string, files: Readonly<Record<string, string>>, command: readonly string[]) => {
  const dir = join(home, `project-${name}`)
  const write = (path: string, text: string) => {
    mkdirSync(join(dir, path, '..'), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  for (const [path, text] of Object.entries(files)) write(path, text)
  const port = await freePort()
  const [file = '', ...args] = command.map(word => word.replace('PORT', String(port)))
  const child = spawn(join(home, 'node_modules/.bin', file), args, {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', CI: '1', NODE_OPTIONS: '' },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => void (said += piece.toString()))
  t.teardown(async () => {
    // With the workers that it has started.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${said}`)
    return (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.ok === true
  }, name)
  return { port, write, said: () => said }
}

const inBrowser = async (t: Test, port: number) => {
  const s = await previewHost(t, { config: { previewDomain: 'previews.test' } })
  const { address } = await s.preview('dev', { port, public: false })
  t.match(address, /\.local\.previews\.test:\d+$/)
  const token = await s.token('dev')
  const browser = await chromium(t, ['--host-resolver-rules=MAP *.previews.test 127.0.0.1'])
  const page = await browser.page()
  t.equal(await page.goto(`${address}/`), 401, 'it is private')
  t.equal(await page.goto(`${address}/?svc_preview_token=${token}`), 200)
  t.equal(await page.goto(`${address}/`), 200, 'by the cookie from then on')
  return { page, address }
}

t.test('Vite', async t => {
  const text = (value: string) => `export const text = '${value}'\n`
  const { port, write, said } = await serving(
    t,
    'vite',
    {
      'index.html':
        '<!doctype html><title>vite</title><body><p id="it"></p><script type="module" src="/main.js"></script>',
      'main.js': `import { text } from './text.js'
const show = value => { document.getElementById('it').textContent = value }
show(text)
if (import.meta.hot) import.meta.hot.accept('./text.js', next => show(next.text))
`,
      'text.js': text('one'),
    },
    ['vite', '--host', '0.0.0.0', '--port', 'PORT', '--strictPort'],
  )
  const { page, address } = await inBrowser(t, port)
  const shows = (value: string) => page.until(`document.getElementById('it').textContent === '${value}'`)
  await shows('one')
  const socket = page.requests.find(url => url.startsWith('ws'))
  t.equal(socket && new URL(socket).host, new URL(address).host, 'its socket is the preview’s')
  await page.eval('window.stays = true')
  write('text.js', text('two'))
  await shows('two')
  t.equal(await page.eval('window.stays'), true, 'without a reload')
  t.same(
    page.complaints.filter(one => !/favicon/.test(one) && !/401/.test(one)),
    [],
    said(),
  )
})

t.test('Next.js', async t => {
  const source = (value: string) => `import { revalidatePath } from 'next/cache'
import { count } from './count.js'
async function add() {
  'use server'
  count.value += 1
  revalidatePath('/')
}
export const dynamic = 'force-dynamic'
export default function Page() {
  return <form action={add}><p id="it">${value}</p><p id="count">{String(count.value)}</p><button>add</button></form>
}
`
  const { port, write, said } = await serving(
    t,
    'next',
    {
      'package.json': '{"private":true,"name":"app"}',
      'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>\n',
      'app/count.js': 'export const count = (globalThis.counted ??= { value: 0 })\n',
      'app/page.js': source('one'),
    },
    ['next', 'dev', '-H', '0.0.0.0', '-p', 'PORT'],
  )
  const { page, address } = await inBrowser(t, port)
  const shows = (id: string, value: string) =>
    page.until(`document.getElementById('${id}')?.textContent === '${value}'`)
  await shows('it', 'one')
  await page.until(`Object.keys(document.querySelector('button')).some(name => name.startsWith('__react'))`)
  const socket = page.requests.find(url => url.startsWith('ws'))
  t.equal(socket && new URL(socket).host, new URL(address).host, 'its socket is the preview’s')
  await page.eval('window.stays = true')
  await page.eval(`document.querySelector('button').click()`)
  await shows('count', '1')
  write('app/page.js', source('two'))
  await shows('it', 'two')
  t.equal(await page.eval('window.stays'), true, 'neither the form nor the change has loaded the page anew')
  t.notMatch(said(), /Cross origin request|Blocked cross-origin|Invalid Server Actions/)
})
