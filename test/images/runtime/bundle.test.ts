import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { withoutTenantPaths } from '../../../images/runtime/tenant-paths.ts'
import { bundleCommand, nodeFlags, ownLibraries } from '../../../shared/bundle.ts'
import { mcpClients } from '../../support/mcp-clients.ts'
import { bundle, chrooted, imageRoot, runChrooted, withoutChroot } from '../../support/chroot.ts'

const made = bundle()
const busybox = withoutChroot ? '' : await imageRoot('busybox')
const facts = JSON.parse(readFileSync(join(made, 'bundle.json'), 'utf8')) as { digest: string; command: string[] }
const node = ['/.hutch/bin/node', '-e']

/** Starts the daemon of the bundle as a sandbox does and waits until it says its port. */
const start = async (t: Test, where: { root: string; env?: Record<string, string> }) => {
  const child = chrooted({ ...where, bundle: made, network: 'shared', env: { WORKDIR: '/tmp', ...where.env } }, [
    ...facts.command,
    '--port',
    '0',
  ])
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    t.notMatch(line, /CAUGHT \/\.hutch/)
    const port = /"daemon\.listening".*"port":(\d+)/.exec(line)?.[1]
    if (port) return { child, url: `http://127.0.0.1:${port}` }
  }
  throw new Error(`the daemon ended with ${child.exitCode}`)
}

t.test('the daemon runs in a root that has nothing but busybox', { skip: withoutChroot }, async t => {
  const { url, child } = await start(t, { root: busybox })
  const health = await fetch(`${url}/health`)
  t.equal(health.status, 200)
  t.match(await health.json(), { status: String })
  child.stderr?.resume()
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  t.equal(code, 0, 'ends well when asked to')
})

t.test('its MCP server speaks every kind of revision there', { skip: withoutChroot }, async t => {
  const { url, child } = await start(t, { root: busybox })
  child.stderr?.resume()
  for (const name of ['client 1.x, 2025-11-25', 'client 2.x, 2026-07-28']) {
    const client = await mcpClients[name]?.connect(t, url)
    t.equal((await client?.tools())?.length, 19, name)
    t.match(await client?.call('processExecute', { command: 'echo here', waitForCompletion: true }), {
      structuredContent: { status: 'completed', logs: 'here\n' },
    })
    t.match(await client?.call('fsReadFile', { path: '/no/such' }), { isError: true, content: [{ text: /no\/such/ }] })
    await client?.close()
  }
})

t.test('addons, node-pty and programs run there', { skip: withoutChroot }, async t => {
  const where = { root: busybox, bundle: made, network: 'own' } as const
  const load = [
    `const { readdirSync } = require('node:fs')`,
    `for (const file of readdirSync('/.hutch/daemon/native')) process.dlopen({ exports: {} }, '/.hutch/daemon/native/' + file)`,
    `const { createRequire } = require('node:module')`,
    `const pty = createRequire('/.hutch/daemon/main.js')('node-pty').spawn('/bin/echo', ['from a terminal'], {})`,
    `pty.onData(text => process.stdout.write(text))`,
  ].join('\n')
  t.match(await runChrooted(where, [...node, load]), { code: 0, out: /from a terminal/ })
  t.ok(readdirSync(join(made, 'daemon/native')).includes('spawn.node'), 'the addons are in the bundle')
  const programs: [string[], RegExp][] = [
    [['/.hutch/bin/ip', '-br', 'link'], /^lo /],
    [['/.hutch/bin/wg', '--version'], /wireguard-tools/],
    [['/.hutch/bin/wireguard-go', '--version'], /wireguard-go/],
    [['/.hutch/bin/rg', '--version'], /ripgrep/],
    [['/.hutch/bin/setpriv', '--reuid', '65534', '/usr/bin/id', '-u'], /^65534/],
    [['/.hutch/bin/iptables', '--version'], /nf_tables/],
    [['/.hutch/bin/iptables-legacy', '--version'], /legacy/],
  ]
  for (const [command, says] of programs)
    t.match(await runChrooted(where, command), { code: 0, out: says }, command.join(' '))
})

t.test('V8 takes the code cache of every piece that starts', async t => {
  const [command, ...args] = bundleCommand(made, '')
  const probe = [
    `const { Script } = require('node:vm')`,
    `const { readdirSync, readFileSync } = require('node:fs')`,
    `const dir = process.argv[1]`,
    `const caches = readdirSync(dir).filter(name => name.endsWith('.cache'))`,
    `const rejected = caches.filter(name => new Script(readFileSync(dir + '/' + name.slice(0, -6), 'latin1'),`,
    `  { filename: dir + '/' + name.slice(0, -6), cachedData: readFileSync(dir + '/' + name) }).cachedDataRejected)`,
    `console.log(JSON.stringify({ caches, rejected }))`,
  ].join('\n')
  const { stdout } = await execa(command, [...args.slice(0, -1), '-e', probe, join(made, 'daemon')])
  const { caches, rejected } = JSON.parse(stdout) as { caches: string[]; rejected: string[] }
  t.ok(caches.includes('main.js.cache'))
  t.same(rejected, [])
  const tag = async (flags: readonly string[]) =>
    (await execa(process.execPath, [...flags, '-p', 'require("node:v8").cachedDataVersionTag()'])).stdout
  t.equal(await tag(nodeFlags), await tag([]), 'the caches of Node’s own modules, which were made without flags, hold')
})

t.test('the memory addon is there before any thread', async t => {
  const [command, ...args] = bundleCommand(made, '')
  const probe = `console.log(require('node:fs').readFileSync('/proc/self/maps', 'latin1').includes('native/memory.node'))`
  const { stdout, stderr } = await execa(command, [...args.slice(0, -1), '-e', probe])
  t.same({ stdout, stderr }, { stdout: 'true', stderr: '' })
})

t.test('what starts the daemon is in the bundle', async t => {
  t.match(facts.digest, /^[0-9a-f]{32}$/)
  t.equal(made.split('/').at(-1), facts.digest)
  t.same(facts.command, bundleCommand('/.hutch', 'boot.js'))
  t.notOk(readdirSync(join(made, 'daemon')).includes('warm.js'), 'the warm run is not')
  for (const name of readdirSync(join(made, 'daemon')))
    if (name.endsWith('.js'))
      t.notMatch(readFileSync(join(made, 'daemon', name), 'latin1'), /[\x80-\xff]/, `${name} is ASCII`)
})

t.test('nothing that the daemon runs has a path of the tenant compiled in', async t => {
  const copy = join(t.testdir(), 'copy')
  const isClean = (name: string, path: string): void => {
    copyFileSync(path, copy)
    t.notOk(withoutTenantPaths(name, copy), path)
  }
  for (const dir of [ownLibraries, 'lib/xtables'])
    for (const name of readdirSync(join(made, dir)))
      if (statSync(join(made, dir, name)).isFile()) isClean(name, join(made, dir, name))
  const programs = readdirSync(join(made, 'bin')).filter(name => name !== 'node')
  t.ok(programs.length > 10)
  for (const name of programs) isClean(name, join(made, 'bin', name))
  t.equal(withoutTenantPaths('libc.so.6', (copyFileSync(join(made, 'lib/libc.so.6'), copy), copy)), true)
})

/** What each of them looks for, and whoever is root in a sandbox could write there, if it were below the tenant's root. */
const lookedFor: Readonly<Record<string, readonly string[]>> = {
  'ld-': ['ld.so.preload', 'ld.so.cache'],
  'libc.so': [
    'nsswitch.conf',
    'resolv.conf',
    'host.conf',
    'hosts',
    'services',
    'passwd',
    'gconv',
    'locale',
    'zoneinfo',
  ],
  libxtables: ['xtables'],
}

t.test('what the loader, the C library and iptables look for is where nobody can make a file', async t => {
  const dir = join(made, ownLibraries)
  for (const [beginning, names] of Object.entries(lookedFor)) {
    const files = readdirSync(dir).filter(file => file.startsWith(beginning))
    t.ok(files.length > 0, beginning)
    for (const file of files) {
      const text = readFileSync(join(dir, file), 'latin1')
      for (const name of names) {
        const paths = text.match(new RegExp(`(?:/[\\w.-]+)+/${name.replaceAll('.', '\\.')}(?![\\w.])`, 'g')) ?? []
        t.not(paths.length, 0, `${file} looks for ${name}`)
        t.same(
          paths.filter(path => !path.startsWith('/sys/')),
          [],
          `${file}: ${name}`,
        )
      }
      t.notMatch(text, /\/lib\//, `${file} takes no library of the tenant's`)
    }
  }
})

/** Says in which program it is; loaded by whoever believes the root file system. */
const trap = `#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void caught(void) {
  char program[256];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  dprintf(2, "CAUGHT %.*s\\n", (int)length, program);
}`

/** A root that would have every program load that, and read what never ends. */
const trappedRoot = (dir: string): string => {
  const root = join(dir, 'root')
  for (const path of ['etc/ssl', 'usr/lib/x86_64-linux-gnu/ip', 'usr/lib/x86_64-linux-gnu/xtables', 'usr/share'])
    mkdirSync(join(root, path), { recursive: true })
  writeFileSync(join(dir, 'trap.c'), trap)
  const library = join(root, 'trap.so')
  execFileSync('gcc', ['-shared', '-fPIC', '-o', library, join(dir, 'trap.c')])
  for (const name of [
    'libnss_files.so.2',
    'libnss_dns.so.2',
    'libnss_trap.so.2',
    'ip/link_wireguard.so',
    'xtables/libxt_mark.so',
  ])
    copyFileSync(library, join(root, 'usr/lib/x86_64-linux-gnu', name))
  writeFileSync(join(root, 'etc/ld.so.preload'), '/trap.so\n')
  writeFileSync(
    join(root, 'etc/ssl/openssl.cnf'),
    'nodejs_conf = x\n[x]\nengines = y\n[y]\nz = w\n[w]\ndynamic_path = /trap.so\n',
  )
  for (const name of ['bufferutil', 'utf-8-validate', 'node-pty']) {
    mkdirSync(join(root, 'node_modules', name), { recursive: true })
    writeFileSync(
      join(root, 'node_modules', name, 'index.js'),
      `require('node:fs').writeSync(2, 'CAUGHT by ${name}\\n')`,
    )
  }
  for (const name of ['nsswitch.conf', 'resolv.conf', 'hosts', 'host.conf', 'services', 'localtime', 'gai.conf'])
    execFileSync('mkfifo', [join(root, 'etc', name)])
  return root
}

t.test('a root that is full of traps catches the tenant alone', { skip: withoutChroot }, async t => {
  const root = `${trappedRoot(t.testdir())}:${await imageRoot('base')}`
  const env = { RELACE_API_KEY: 'x', RELACE_BASE_URL: 'https://nosuch.example' }
  const { url, child } = await start(t, { root, env })
  const lines: string[] = []
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', line => lines.push(line))
  const call = async (method: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })).text()
  }
  const ran = await call('POST', '/process', { command: 'sleep 100 & echo started', waitForCompletion: true })
  t.match(ran, /started[^]*CAUGHT \/usr\/bin\//, 'it is a trap')
  t.match(await call('POST', '/upgrade', { baseUrl: 'https://nosuch.example' }), /message|error/)
  t.match(
    await call('PUT', '/codegen/fastapply//etc/motd', { codeEdit: 'x', model: 'auto' }),
    /EAI_AGAIN/,
    'a name is looked up, of nobody',
  )
  const terminal = new WebSocket(`${url.replace('http', 'ws')}/terminal/ws?cols=80&rows=24`)
  await once(terminal, 'open')
  terminal.close()
  t.equal((await fetch(`${url}/health`)).status, 200, 'and nothing hangs')
  t.notMatch(lines.join('\n'), /CAUGHT/)
  for (const command of [
    ['/.hutch/bin/ip', 'link', 'add', 'wg7', 'type', 'wireguard'],
    ['/.hutch/bin/iptables', '-A', 'OUTPUT', '-m', 'mark', '--mark', '1', '-p', 'tcp', '--dport', 'http'],
    ['/.hutch/bin/iptables-legacy', '-t', 'nosuch', '-L'],
    ['/.hutch/bin/wg', 'show'],
    ['/.hutch/bin/wireguard-go', '--version'],
    ['/.hutch/bin/setpriv', '--reuid', 'nobody', '/.hutch/bin/ip', '-V'],
    ['/.hutch/bin/rg', '--version'],
  ]) {
    const tools = { XTABLES_LIBDIR: '/.hutch/lib/xtables', XTABLES_LOCKFILE: '/proc/self/comm' }
    const { out } = await runChrooted({ root, bundle: made, network: 'own', env: tools }, command)
    // What sets up its root is a program of that root.
    const caught = out.match(/CAUGHT .*/g) ?? []
    t.same(
      caught.filter(line => line.includes('/.hutch/')),
      [],
      command.join(' '),
    )
  }
})
