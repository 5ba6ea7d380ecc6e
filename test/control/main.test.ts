/** The command line as a program, over machines in memory. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { commands } from '../../control/cli/commands.ts'
import { parseCommandLine } from '../../control/cli/parse.ts'
import { stripArguments } from '../support/coverage.ts'
import { until } from '../support/until.ts'

const main = fileURLToPath(new URL('../../control/main.ts', import.meta.url))

const hutch = (t: Test, args: readonly string[], env: Record<string, string> = {}) => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-main-'))
  const dataDir = join(dir, 'data')
  const child = spawn(process.execPath, [...stripArguments, main, ...args], {
    cwd: dir,
    env: {
      PATH: process.env['PATH'] ?? '',
      HUTCH_DATA_DIR: dataDir,
      HUTCH_DRIVER: 'fake',
      HUTCH_PORT: '0',
      // The daemons of this driver answer nobody, which is logged.
      HUTCH_WARM: '',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { out: '', error: '' }
  child.stdout.on('data', piece => (said.out += piece))
  child.stderr.on('data', piece => (said.error += piece))
  const ended = once(child, 'close') as Promise<[number | null]>
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    rmSync(dir, { recursive: true, force: true })
  })
  return { child, said, ended, dataDir, url: () => /serving on (\S+)/.exec(said.out)?.[1] }
}

const serving = async (t: Test, env?: Record<string, string>) => {
  const run = hutch(t, ['run'], env)
  await until(async () => run.url() !== undefined || run.child.exitCode !== null, 'the server to serve')
  t.ok(run.url(), run.said.error)
  return run
}

/** Runs a line of JavaScript before anything of the program. */
const first = (line: string) => ({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(line)}` })

const status = async (url: string, dataDir: string): Promise<number> => {
  const authorization = `Bearer ${readFileSync(join(dataDir, 'admin-key'), 'utf8').trim()}`
  return (await fetch(`${url}/v0/sandboxes`, { headers: { authorization } })).status
}

t.test('help and version; everything unknown ends in one line', async t => {
  const help = hutch(t, ['--help'])
  t.equal((await help.ended)[0], 0)
  t.match(help.said.out, /usage: hutch <command>/)
  const version = hutch(t, ['--version'])
  await version.ended
  t.match(version.said.out, /^hutch \d+\.\d+\.\d+ \(Node v\d+/)
  const long = hutch(t, ['--version'], first('process.stdout.write(" ".repeat(1_000_000))'))
  await long.ended
  t.match(long.said.out.trim(), /^hutch \d/, 'all of it is read, however much it is')
  for (const [args, env] of [
    [['rnu'], {}],
    [['run', '--port', '1'], {}],
    [['run'], { HUTCH_PROT: '1' }],
    [['run'], { HUTCH_DRIVER: 'docker' }],
    [['doctor'], { HUTCH_PORT: '1.5' }],
    [['image', 'nothing'], {}],
    [['daemon', '--port', 'x'], {}],
  ] as const) {
    const run = hutch(t, args, env)
    t.equal((await run.ended)[0], 1, args.join(' '))
    t.match(run.said.error, /^hutch: [^\n]+\n$/, args.join(' '))
    t.equal(run.said.out, '')
    t.notOk(existsSync(run.dataDir), 'nothing was made')
  }
})

t.test('a port in use is said before anything is set up', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const run = hutch(t, ['run'], { HUTCH_PORT: String(port) })
  t.equal((await run.ended)[0], 1)
  t.equal(
    run.said.error,
    `hutch: cannot listen on 127.0.0.1:${port} (EADDRINUSE); another program listens there: end it, or set HUTCH_PORT to another port\n`,
  )
  t.notOk(existsSync(run.dataDir))
})

t.test('a data directory that cannot be made ends it', async t => {
  const run = hutch(t, ['run'], { HUTCH_DATA_DIR: '/proc/hutch' })
  t.equal((await run.ended)[0], 1)
  t.match(run.said.error, /^hutch: the data directory \/proc\/hutch cannot be made: [^\n]+\n$/)
})

t.test('it serves on when nobody reads what it says any more', async t => {
  const run = await serving(t, { HUTCH_LOG_LEVEL: 'debug' })
  run.child.stdout.destroy()
  run.child.stderr.destroy()
  for (let asked = 0; asked < 20; asked++) t.equal(await status(run.url() as string, run.dataDir), 200)
  run.child.kill('SIGTERM')
  const [code] = (await once(run.child, 'exit')) as [number | null]
  t.equal(code, 0, 'and stops as it should')
})

t.test('an exception that nobody caught ends it with a line of the log, for the unit to start it again', async t => {
  const thrower = 'process.on("SIGUSR2", () => { throw new Error("nobodys".padEnd(1_000_000)) })'
  const run = await serving(t, first(thrower))
  run.child.kill('SIGUSR2')
  t.equal((await run.ended)[0], 1)
  t.match(
    JSON.parse(run.said.error.trim().split('\n').at(-1) as string),
    { event: 'server.threw', error: { message: /^nobodys +$/, stack: String } },
    'a reader that is slow has all of it',
  )
})

t.test('beyond loopback it says what that means, and its addresses work', async t => {
  const run = await serving(t, { HUTCH_HOST: '0.0.0.0' })
  const url = run.url() as string
  t.notMatch(url, '0.0.0.0')
  t.equal(await status(url, run.dataDir), 200)
  t.match(run.said.out, /whoever reaches 0\.0\.0\.0:\d+ may call it\. Every call needs a key/)
  const local = await serving(t)
  t.notMatch(local.said.out, /whoever reaches/)
})

t.test('logs are JSON lines unless text is asked for', async t => {
  const json = await serving(t, { HUTCH_LOG_LEVEL: 'debug' })
  await status(json.url() as string, json.dataDir)
  for (const line of json.said.error.trim().split('\n')) t.match(JSON.parse(line), { event: String })
  const text = await serving(t, { HUTCH_LOG_LEVEL: 'debug', HUTCH_LOG_FORMAT: 'text' })
  await status(text.url() as string, text.dataDir)
  t.match(text.said.error, /^\d\d:\d\d:\d\d (info|debug) {1,2}\w/)
})

t.test('hutchd alone: on loopback, where it was told to work', async t => {
  const run = hutch(t, ['daemon', '--port', '0', '--workdir', '/usr'])
  const listening = () => /"daemon\.listening".*"port":(\d+)/.exec(run.said.error)?.[1]
  await until(async () => listening() !== undefined || run.child.exitCode !== null, 'the daemon to listen')
  const port = listening() as string
  const answer = await fetch(`http://127.0.0.1:${port}/process`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ command: 'pwd', waitForCompletion: true }),
  })
  t.match(await answer.json(), { stdout: '/usr\n' })
  const listeners = readFileSync('/proc/net/tcp', 'utf8')
  t.match(listeners, ` 0100007F:${Number(port).toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`)
  run.child.kill('SIGTERM')
  await run.ended
  const nowhere = hutch(t, ['daemon', '--workdir', '/nowhere'])
  t.equal((await nowhere.ended)[0], 1)
  t.match(nowhere.said.error, /^hutch: --workdir: ENOENT: [^\n]*\/nowhere'\n$/)
})

t.test('keys are made, listed and revoked beside a running server, which knows at once', async t => {
  const { url, dataDir } = await serving(t)
  const key = async (line: string) => {
    const said: string[] = []
    const parsed = parseCommandLine(['key', ...line.split(' ')], commands)
    if (parsed.kind !== 'run') throw new Error(`${line} runs nothing`)
    await parsed.command.run({ env: { HUTCH_DATA_DIR: dataDir }, cwd: '/', ...parsed, say: text => said.push(text) })
    return said.join('\n')
  }
  const asks = async (secret: string) =>
    (await fetch(`${url()}/v0/sandboxes`, { headers: { authorization: `Bearer ${secret}` } })).status
  const secret = await key('create laptop --expires 30d --role member --default-workspace default')
  t.match(secret, /^hutch_[\w-]{40,}$/)
  t.equal(await asks(secret), 200)
  const listed = await key('list')
  const [, id = ''] = /^(\S+) +laptop +member +all +default +all +20\S+ +never$/m.exec(listed) ?? []
  t.ok(id, listed)
  t.match(listed, /^admin +admin +admin +all +default +all +never /m)
  t.notOk(listed.includes(secret))
  t.equal(await key(`revoke ${id}`), `revoked ${id}`)
  t.equal(await asks(secret), 401)
  for (const [line, message] of [
    [`revoke ${id}`, /not found/],
    ['revoke admin', /admin-key/],
    ['revoke', /needs the id/],
    ['find x', /takes create, list or revoke/],
    ['list --expires 1d', /takes no --expires/],
    ['create a b', /"b" is one word too many/],
    ['create --role root', /^--role must be admin or member, and is "root"$/],
    ['create --expires soon', /^expires_in: must be/],
    ['create --workspace none', /^workspace: there is no workspace "none"$/],
    ['create --scopes everything', /scopes/],
  ] as const)
    await t.rejects(key(line), { message }, line)
  const elsewhere = hutch(t, ['key', 'list'])
  t.equal((await elsewhere.ended)[0], 1)
  t.match(elsewhere.said.error, /^hutch: \S+ has no database; start make run once, or set HUTCH_DATA_DIR\n$/)
})
