/** Set-up in a network that inspects TLS: everything goes through the proxy, and its authority is trusted when it is named. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { checkout } from '../../support/chroot.ts'
import { interceptingProxy, type Answerer } from '../../support/intercepting-proxy.ts'

t.setTimeout(120_000)

/** A checkout with nothing but the set-up scripts. */
const bareCheckout = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch setup-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  cpSync(join(checkout, 'images/setup'), join(dir, 'images/setup'), { recursive: true })
  return dir
}

/** The version of what a script fetches. */
const versionIn = (script: string): string =>
  /^(?:npm_)?version=(.*)$/m.exec(readFileSync(join(checkout, script), 'utf8'))?.[1] as string

/** An npm registry in which every package is one with a program `bin/node`. */
const registry = (dir: string): Answerer => {
  mkdirSync(join(dir, 'package/bin'), { recursive: true })
  writeFileSync(join(dir, 'package/package.json'), '{"name": "x", "version": "1.0.0"}')
  writeFileSync(join(dir, 'package/bin/node'), '#!/bin/sh\necho stand-in\n', { mode: 0o755 })
  const archive = join(dir, 'package.tgz')
  execFileSync('tar', ['czf', archive, '-C', dir, 'package'])
  return (url, _, response) => {
    if (url.pathname.endsWith('.tgz')) return void response.end(readFileSync(archive))
    const name = decodeURIComponent(url.pathname.slice(1))
    const version = name === 'npm' ? versionIn('images/base/build.sh') : versionIn('images/setup/node.sh')
    const dist = { tarball: `${url.origin}/${name}.tgz` }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { name, version, dist } } }),
    )
  }
}

/** As on a machine that nobody has prepared for the proxy; a registry that only the proxy knows. */
const untrusting = (dir: string) => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: dir,
  npm_config_userconfig: join(dir, 'none'),
  npm_config_globalconfig: join(dir, 'none-either'),
  npm_config_registry: 'https://registry.example/',
  npm_config_cache: join(dir, 'npm-cache'),
  npm_config_fetch_retries: '0',
})

t.test('Node is fetched through the proxy, once its authority is named', async t => {
  const dir = bareCheckout(t)
  const proxy = await interceptingProxy(t.testdir(), registry(t.testdirName))
  t.teardown(proxy.close)
  // In capitals, which not every tool reads.
  const env = { ...untrusting(dir), HTTPS_PROXY: proxy.url }
  const fetchNode = (more: Record<string, string>) =>
    execa('bash', ['images/setup/node.sh'], { cwd: dir, env: { ...env, ...more }, extendEnv: false, reject: false })
  const refused = await fetchNode({})
  t.not(refused.exitCode, 0)
  t.match(refused.stderr, /npm failed; it says:[^]*(certificate|CERT)/i)
  t.notOk(existsSync(join(dir, '.runtime/node')))
  const fetched = await fetchNode({ HUTCH_CA_FILE: proxy.caFile })
  t.equal(fetched.exitCode, 0, fetched.stderr)
  t.match(execFileSync(join(dir, '.runtime/node/bin/node'), { encoding: 'utf8' }), 'stand-in')
  t.ok(proxy.asked.some(url => url.startsWith('https://registry.example/node-linux-')))
})

t.test('apt reads a repository through the proxy, once its authority is named', async t => {
  const dir = bareCheckout(t)
  // Of every architecture, the empty list of packages.
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  const lists = ['all', 'amd64', 'arm64'].map(arch => ` ${empty} 0 main/binary-${arch}/Packages`)
  const release = ['Suite: stable', 'Codename: stable', 'Architectures: all amd64 arm64', 'SHA256:', ...lists, '']
  const proxy = await interceptingProxy(t.testdir(), (url, _, response) => {
    if (url.pathname.endsWith('/Release')) return void response.end(release.join('\n'))
    if (!url.pathname.endsWith('/Packages')) response.statusCode = 404
    response.end()
  })
  t.teardown(proxy.close)
  for (const name of ['state/lists/partial', 'cache/archives/partial']) mkdirSync(join(dir, name), { recursive: true })
  writeFileSync(join(dir, 'sources.list'), 'deb [trusted=yes] https://debian.example stable main\n')
  const places = [
    'Dir::State=state',
    'Dir::Cache=cache',
    'Dir::Etc::sourcelist=sources.list',
    'Dir::Etc::sourceparts=-',
  ]
  const options = places
    .map(place => place.replace('=', `='${dir}/`))
    .map(place => `-o ${place}'`.replace(`${dir}/-`, '-'))
  const line = `. images/setup/trust.sh; apt-get "\${apt_options[@]}" ${options.join(' ')} -o Acquire::Retries=0 update`
  const update = (more: Record<string, string>) =>
    execa('bash', ['-euc', line], {
      cwd: dir,
      env: { PATH: process.env['PATH'] ?? '', HTTPS_PROXY: proxy.url, ...more },
      extendEnv: false,
      stdin: 'ignore',
      reject: false,
      all: true,
    })
  t.match((await update({})).all, /certificate/i)
  const updated = await update({ HUTCH_CA_FILE: proxy.caFile })
  t.equal(updated.exitCode, 0, updated.all)
  t.notMatch(updated.all, /^(E|Err)/m)
  t.ok(proxy.asked.includes('https://debian.example/dists/stable/Release'))
})

t.test('the image build passes it all on to mmdebstrap and pip', async t => {
  const dir = bareCheckout(t)
  cpSync(join(checkout, 'images/base'), join(dir, 'images/base'), { recursive: true })
  const proxy = await interceptingProxy(t.testdir(), registry(t.testdirName))
  t.teardown(proxy.close)
  mkdirSync(join(dir, 'bin'))
  const stand = `#!/bin/sh\nprintf '%s\\n' "$@" "proxy $https_proxy" >'${dir}/told'\necho 'E: no further' >&2\nexit 1\n`
  writeFileSync(join(dir, 'bin/mmdebstrap'), stand, { mode: 0o755 })
  const env = { ...untrusting(dir), HTTPS_PROXY: proxy.url, HUTCH_CA_FILE: proxy.caFile }
  const { stderr, exitCode } = await execa('bash', ['images/base/build.sh'], {
    cwd: dir,
    env: { ...env, PATH: `${join(dir, 'bin')}:${env.PATH}`, IMAGES_DIR: join(dir, 'made') },
    extendEnv: false,
    reject: false,
  })
  t.equal(exitCode, 1)
  t.match(stderr, /mmdebstrap failed; it says:\nE: no further/)
  const told = readFileSync(join(dir, 'told'), 'utf8')
  const bundle = join(dir, 'made/.ca-bundle.crt')
  t.match(told, `--aptopt=Acquire::https::CaInfo "${bundle}"`)
  t.match(told, `python.sh" "$1" "${bundle}"`)
  t.match(told, `proxy ${proxy.url}`)
  t.match(readFileSync(bundle, 'utf8'), readFileSync(proxy.caFile, 'utf8').trim())
})

t.test('a file that is no authority is refused by name', async t => {
  const dir = bareCheckout(t)
  for (const file of ['/nowhere.pem', '/etc/hostname']) {
    const env = { ...untrusting(dir), HUTCH_CA_FILE: file }
    const { stderr, exitCode } = await execa('bash', ['images/setup/node.sh'], {
      cwd: dir,
      env,
      extendEnv: false,
      reject: false,
    })
    t.equal(exitCode, 1)
    t.equal(stderr, `hutch: HUTCH_CA_FILE: ${file} is not a readable file with certificates in PEM`)
  }
})

t.test('work that takes long says every few seconds what it does, and with what it ended', async t => {
  const dir = bareCheckout(t)
  const line =
    '. images/setup/progress.sh; progress "waiting" log sh -c "echo one; sleep 5.5; echo two; exit 3" || echo "code $?"; cat log'
  const started = performance.now()
  const { stdout } = await execa('bash', ['-euc', line], { cwd: dir })
  t.match(stdout, /^setup: waiting\nsetup: \([56] s\) one\ncode 3\none\ntwo$/)
  t.ok(performance.now() - started < 9_000, 'nothing of it holds the output open afterwards')
})
