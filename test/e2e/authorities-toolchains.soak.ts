/** Toolchains that the image has not: their package managers and libraries trust a network that opens TLS, too. Brought from this box. */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { company } from '../support/company.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())
t.setTimeout(400_000)

const home = process.env['HOME'] ?? '/root'

/** Directories on this box whose files are put into the root of the sandbox; undefined where the box has none. */
const go = (dir: string): string | undefined => {
  if (!existsSync('/usr/local/go/bin/go')) return undefined
  mkdirSync(join(dir, 'go/opt/go'), { recursive: true })
  for (const part of ['bin/go', 'VERSION', 'go.env'])
    execFileSync('cp', ['--parents', part, join(dir, 'go/opt/go')], { cwd: '/usr/local/go' })
  return join(dir, 'go')
}

const cargo = (dir: string): string | undefined => {
  const [found] = globSync(`${home}/.rustup/toolchains/stable-*/bin`)
  if (found === undefined) return undefined
  mkdirSync(join(dir, 'cargo/opt/rust'), { recursive: true })
  for (const part of ['bin/cargo', 'bin/rustc', 'lib/*.so'])
    execFileSync('sh', ['-c', `cp --parents ${part} ${join(dir, 'cargo/opt/rust')}`], { cwd: join(found, '..') })
  return join(dir, 'cargo')
}

const ruby = (dir: string): string | undefined => {
  const packages = join(dir, 'debs')
  mkdirSync(packages)
  try {
    execFileSync('apt-get', ['download', 'ruby3.1', 'libruby3.1', 'libyaml-0-2'], { cwd: packages, stdio: 'ignore' })
  } catch {
    return undefined
  }
  for (const file of globSync(`${packages}/*.deb`)) execFileSync('dpkg-deb', ['-x', file, join(dir, 'ruby')])
  return join(dir, 'ruby')
}

interface Toolchain {
  bring(dir: string): string | undefined
  /** Fails in the end, for there is no such package; on the way it asks for `url`. */
  readonly command: string
  readonly url: string
  /** Takes away what makes it trust the authority. */
  readonly without: string
}

const toolchains: Readonly<Record<string, Toolchain>> = {
  go: {
    bring: go,
    command:
      'mkdir -p /g && cd /g && GOROOT=/opt/go GOPATH=/g GOSUMDB=off GOFLAGS=-mod=mod GOPROXY=https://example.org/go GOTOOLCHAIN=local /opt/go/bin/go mod download example.org/left@v1.0.0 2>&1',
    url: 'https://example.org/go/example.org/left/@v/v1.0.0.info',
    // It reads every file of /etc/ssl/certs besides.
    without: 'export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt SSL_CERT_DIR=/nowhere;',
  },
  cargo: {
    bring: cargo,
    command: `mkdir -p /c/src && cd /c && touch src/lib.rs && printf '[package]\\nname = "c"\\nversion = "1.0.0"\\n[dependencies]\\nleft = "1"\\n' > Cargo.toml && mkdir -p .cargo && printf '[source.crates-io]\\nreplace-with = "t"\\n[source.t]\\nregistry = "sparse+https://example.org/crates/"\\n' > .cargo/config.toml && RUSTC=/opt/rust/bin/rustc LD_LIBRARY_PATH=/opt/rust/lib /opt/rust/bin/cargo fetch 2>&1`,
    url: 'https://example.org/crates/config.json',
    without: 'unset CARGO_HTTP_CAINFO SSL_CERT_FILE;',
  },
  ruby: {
    bring: ruby,
    command: `ruby3.1 -ropen-uri -e 'puts URI.open("https://example.org/?ruby").read' 2>&1`,
    url: 'https://example.org/?ruby',
    without: 'unset SSL_CERT_FILE;',
  },
}

const tryOne = async (t: Test, name: string, { bring, command, url, without }: Toolchain): Promise<void> => {
  const dir = t.testdir()
  const files = bring(dir)
  if (files === undefined) return void t.pass(`skipped: this box has no ${name}`, { skip: `this box has no ${name}` })
  const outside = await company(t, dir)
  const s = await server(t, {
    HUTCH_CA_FILE: outside.caFile,
    HUTCH_SANDBOX_PROXY: outside.url,
    HUTCH_ALLOW_NETWORKS: outside.network,
  })
  const create = { metadata: { name }, spec: { runtime: { image: 'svc/base-image:latest', memory: 2048 } } }
  t.equal((await s.call('POST', '/v0/sandboxes', create)).status, 200)
  const box = `${s.url}/default/sandboxes/${name}`
  const run = async (line: string): Promise<string> =>
    (await s.call('POST', `${box}/process`, { command: line, waitForCompletion: true, timeout: 110 })).body.logs
  const tar = join(dir, 'files.tar')
  execFileSync('tar', ['-cf', tar, '-C', files, '.'])
  const headers = { authorization: `Bearer ${s.key}`, 'content-type': 'application/octet-stream' }
  const sent = await fetch(`${box}/filesystem//tmp/files.tar`, { method: 'PUT', headers, body: readFileSync(tar) })
  t.equal(sent.status, 200)
  rmSync(tar)
  await run('tar -xf /tmp/files.tar -C / --no-same-owner --keep-directory-symlink')
  t.match(await run(`${without} ${command}`), /certificate|x509|SSL/i, 'without the variables it trusts nobody')
  t.notOk(outside.asked.includes(url))
  const said = await run(command)
  t.ok(outside.asked.includes(url), `${name} came by the proxy: ${said}`)
}

for (const [name, toolchain] of Object.entries(toolchains)) t.test(name, t => tryOne(t, name, toolchain))
