/** Debian's docker-registry on loopback, with TLS and a password, and images in it. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const tools = fileURLToPath(new URL('../../.runtime/test-tools', import.meta.url))
const unpacked = join(tools, 'docker-registry/usr/bin/docker-registry')

/**
 * The binary, or undefined where it is not to be had. It is unpacked and not installed: the package would start a registry of
 * its own on this machine.
 */
export const registryBinary = (): string | undefined => {
  const installed = ['/usr/bin/docker-registry', unpacked].find(path => existsSync(path))
  if (installed) return installed
  mkdirSync(tools, { recursive: true })
  const work = mkdtempSync(join(tools, '.new-'))
  try {
    const quiet = { cwd: work, stdio: 'ignore', timeout: 60_000 } as const
    execFileSync('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', 'docker-registry'], quiet)
    execFileSync('sh', ['-c', 'dpkg-deb -x docker-registry_*.deb tree'], quiet)
    renameSync(join(work, 'tree'), join(tools, 'docker-registry'))
    return unpacked
  } catch {
    // No archive, no network, or somebody else was first.
    return existsSync(unpacked) ? unpacked : undefined
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** bcrypt of `secret`. */
const hash = '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a'

export const login = { username: 'ci', password: 'secret' } as const

export interface Registry {
  /** `localhost:PORT`. */
  readonly host: string
  /** PEM file of the authority that its certificate is of. */
  readonly caFile: string
  /** What it has logged. */
  readonly log: () => string
  /** Makes an image of the files below `rootfs` (built with umoci) and puts it there. */
  push(name: string, build: (rootfs: string) => void, config?: readonly string[]): void
}

const started = async (child: ChildProcess, log: () => string): Promise<number> => {
  for (;;) {
    const found = /listening on [^"\s]*:(\d+)/.exec(log())
    if (found) return Number(found[1])
    if (child.exitCode !== null) throw new Error(`docker-registry ended: ${log()}`)
    await Promise.race([once(child.stderr as NodeJS.ReadableStream, 'data'), once(child, 'exit')])
  }
}

export const registry = async (t: Test, binary: string, dir: string): Promise<Registry> => {
  const at = (name: string) => join(dir, name)
  mkdirSync(at('certs'), { recursive: true })
  const caFile = at('certs/ca.crt')
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  execFileSync('openssl', [...request, ...names, '-keyout', at('key'), '-out', caFile], { stdio: 'ignore' })
  writeFileSync(at('htpasswd'), `${login.username}:${hash}\n`)
  writeFileSync(
    at('config.yml'),
    JSON.stringify({
      version: '0.1',
      log: { level: 'info', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: at('data') }, delete: { enabled: true } },
      http: { addr: '127.0.0.1:0', tls: { certificate: caFile, key: at('key') } },
      auth: { htpasswd: { realm: 'test', path: at('htpasswd') } },
    }),
  )
  const child = spawn(binary, ['serve', at('config.yml')], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const port = await started(child, () => text)
  const host = `localhost:${port}`
  const run = (command: string, args: readonly string[]) => execFileSync(command, args, { stdio: 'pipe' })
  return {
    host,
    caFile,
    log: () => text,
    push(name, build, config = []) {
      const work = mkdtempSync(at('push-'))
      const image = `${work}/layout:image`
      run('umoci', ['init', '--layout', `${work}/layout`])
      run('umoci', ['new', '--image', image])
      run('umoci', ['unpack', '--image', image, `${work}/bundle`])
      build(`${work}/bundle/rootfs`)
      run('umoci', ['repack', '--image', image, `${work}/bundle`])
      if (config.length > 0) run('umoci', ['config', '--image', image, ...config])
      const access = ['--dest-creds', `${login.username}:${login.password}`, '--dest-cert-dir', at('certs')]
      run('skopeo', ['copy', '--quiet', ...access, `oci:${image}`, `docker://${host}/${name}`])
      rmSync(work, { recursive: true, force: true })
    },
  }
}
