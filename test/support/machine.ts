/** What a real driver needs to start machines quickly: a busybox root file system and a small bundle with a daemon. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { basename, join } from 'node:path'

const busybox = ['/usr/bin/busybox', '/bin/busybox'].find(path => existsSync(path))

/** Why real machines cannot be started here, or undefined when they can. */
export const whyNoMachines = (runtime = 'runc'): string | undefined => {
  if (process.getuid?.() !== 0) return 'needs root'
  if (!busybox) return 'needs busybox-static'
  const found = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin'].some(dir =>
    existsSync(join(dir, runtime)),
  )
  return found ? undefined : `needs ${runtime}`
}

/** A root file system with nothing but busybox. */
export const makeRootfs = (dir: string): string => {
  for (const name of ['bin', 'etc', 'tmp', 'root', 'proc', 'dev', 'sys'])
    mkdirSync(join(dir, name), { recursive: true })
  chmodSync(join(dir, 'tmp'), 0o1777)
  copyFileSync(busybox as string, join(dir, 'bin/busybox'))
  for (const name of [
    'sh',
    'sleep',
    'cat',
    'ip',
    'wget',
    'nc',
    'nproc',
    'mount',
    'mknod',
    'id',
    'ls',
    'dd',
    'hostname',
    'ping',
    'true',
    'unshare',
    'echo',
    'timeout',
    'head',
    'awk',
    'touch',
    'yes',
    'nslookup',
    'dmesg',
    'date',
  ])
    symlinkSync('busybox', join(dir, 'bin', name))
  writeFileSync(join(dir, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  return dir
}

/**
 * The daemon of these tests: `GET /health`, `POST /say` that prints its body, and `POST /sh` that runs its body in a
 * shell and answers `{ code, out }`.
 */
const daemon = `
const http = require('node:http')
const { execFile } = require('node:child_process')
http.createServer((request, response) => {
  let body = ''
  request.on('data', piece => { body += piece })
  request.on('end', () => {
    if (request.url === '/health') return response.end('ok')
    if (request.url === '/say') return process.stdout.write(body, () => response.end())
    execFile('/bin/sh', ['-c', body], { env: { PATH: '/bin' }, timeout: 60000 }, (error, out, err) =>
      response.end(JSON.stringify({ code: error ? error.code ?? 1 : 0, out: out + err })))
  })
}).listen(8080)
process.on('SIGTERM', () => process.exit(0))
`

/** A bundle that starts \`daemon\` with this process's own Node through its own loader. */
export const makeBundle = (dir: string): string => {
  const node = realpathSync(process.execPath)
  for (const name of ['bin', 'lib']) mkdirSync(join(dir, name), { recursive: true })
  cpSync(node, join(dir, 'bin/node'))
  const libraries = execFileSync('ldd', [node], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  for (const library of libraries) copyFileSync(realpathSync(library), join(dir, 'lib', basename(library)))
  const loader = libraries.map(path => basename(path)).find(name => name.startsWith('ld-linux')) as string
  writeFileSync(join(dir, 'daemon.cjs'), daemon)
  const command = [`/.hutch/lib/${loader}`, '--library-path', '/.hutch/lib', '/.hutch/bin/node', '/.hutch/daemon.cjs']
  writeFileSync(join(dir, 'bundle.json'), JSON.stringify({ command }))
  return dir
}
