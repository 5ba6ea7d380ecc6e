/** What a tenant has left where a daemon keeps its state, before it starts: nothing of it may end, stop or fill the daemon. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { checkout } from '../support/chroot.ts'

/** Places of the daemon's own, below a directory; the later ones only where the earlier are directories. */
const inner = [
  'state/processes/processes.jsonl',
  'state/processes/processes.jsonl.new',
  'state/processes/output',
  'state/tunnel',
  'upgrade/bundles',
  'log/x.stdout.log',
  'proxy.json',
  'ca.crt',
  'metadata',
  'scale',
  'work/.env',
  'environment',
  'tmp/multipart-uploads',
]
const outer = ['state', 'log', 'upgrade', 'tmp/multipart-uploads', 'drives']

/** What may be in such a place. */
const kinds: Readonly<Record<string, (path: string) => void>> = {
  'a pipe': path => execFileSync('mkfifo', [path]),
  'a link to what never ends': path => symlinkSync('/dev/zero', path),
  'a link to itself': path => symlinkSync(path, path),
  'a link to nothing': path => symlinkSync('/nowhere/at/all', path),
  'a directory': path => mkdirSync(join(path, 'in', 'it'), { recursive: true }),
  gigabytes: path => {
    writeFileSync(path, '')
    truncateSync(path, 3 * 1024 ** 3)
  },
  nonsense: path => writeFileSync(path, '{"pid":1,"current":{"pid":1}}\n\0\xff[[[['),
}

/** To a directory the other kinds are as one of these. */
const inPlaceOfDirectories: ReadonlySet<string> = new Set(['a pipe', 'a link to nothing'])

const environmentIn = (dir: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: dir,
  WORKDIR: join(dir, 'work'),
  TMPDIR: join(dir, 'tmp'),
  SANDBOX_LOG_DIR: join(dir, 'log'),
  SANDBOX_STATE_FILE: join(dir, 'processes.json'),
  SANDBOX_PROXY_STATE_FILE: join(dir, 'proxy.json'),
  SANDBOX_MERGED_CA_PATH: join(dir, 'ca.crt'),
  HUTCH_STATE_DIR: join(dir, 'state'),
  HUTCH_UPGRADE_DIR: join(dir, 'upgrade'),
  HUTCH_DRIVES_ROOT: join(dir, 'drives'),
  SVC_METADATA_PATH: join(dir, 'metadata'),
  SVC_SCALE_FILE: join(dir, 'scale'),
  SVC_ENV_VAR_PATH: join(dir, 'environment'),
  HTTPS_PROXY: `http://user:{{file(${join(dir, 'metadata')})}}@127.0.0.1:1`,
})

/** Starts a daemon there and asks it what uses its state. */
const useDaemon = async (t: Test, dir: string): Promise<void> => {
  const child = spawn(process.execPath, [join(checkout, 'daemon/main.ts'), '--port', '0', '--host', '127.0.0.1'], {
    cwd: join(dir, 'work'),
    env: environmentIn(dir),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  const said: string[] = []
  try {
    let port: string | undefined
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line)
      port = /"daemon\.listening".*"port":(\d+)/.exec(line)?.[1]
      if (port) break
    }
    t.ok(port, `it starts: ${said.join('\n')}`)
    if (!port) return
    child.stderr.resume()
    const call = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(30_000),
      })
      return { status: answer.status, text: await answer.text() }
    }
    const ran = await call('POST', '/process', { command: 'echo ran', waitForCompletion: true })
    t.match(ran, { status: 200, text: /ran/ }, 'it runs commands')
    for (const [method, path] of [
      ['GET', '/process'],
      ['GET', '/filesystem-multipart'],
      ['POST', '/filesystem-multipart/initiate/a.txt'],
      ['POST', '/environment/reload'],
      ['GET', '/drives/mount'],
    ] as const)
      t.ok((await call(method, path, method === 'POST' ? {} : undefined)).status > 0, `${method} ${path} is answered`)
    t.equal((await call('GET', '/health')).status, 200)
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

for (const [what, make] of Object.entries(kinds))
  t.test(`${what} in the place of the daemon's files`, async t => {
    for (const places of inPlaceOfDirectories.has(what) ? [inner, outer] : [inner]) {
      const dir = mkdtempSync(join(tmpdir(), 'hutch-state-'))
      try {
        for (const name of ['work', 'tmp']) mkdirSync(join(dir, name))
        for (const place of places) {
          mkdirSync(dirname(join(dir, place)), { recursive: true })
          make(join(dir, place))
        }
        await t.test(places === inner ? 'its files' : 'its directories', t => useDaemon(t, dir))
        t.ok(statSync(dir).isDirectory())
      } finally {
        rmSync(dir, { recursive: true, force: true })
      }
    }
  })
