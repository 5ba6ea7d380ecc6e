/** A private network beside this box with a company's proxy in it, and nothing else; what stands in the internet is made here. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

const network = '10.213.77.0/30'
const [here, there] = ['10.213.77.1', '10.213.77.2']
const name = `hutch-co-${process.pid}`
const link = `hco${process.pid}`

const run = (file: string, args: readonly string[], cwd?: string) =>
  execFileSync(file, args, { stdio: ['ignore', 'pipe', 'pipe'], ...(cwd ? { cwd } : {}) })
const ip = (line: string) => run('ip', line.split(' '))

/** A repository, a package of Python's and one of Node's, as the internet has them. */
const makeInternet = (www: string): void => {
  const put = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(www, path)), { recursive: true })
    writeFileSync(join(www, path), content)
  }
  put('example.org/index', 'hello from outside')
  const repo = join(www, 'git.example.org/repo.git')
  const work = join(www, '../work')
  run('git', ['init', '-q', work])
  writeFileSync(join(work, 'README'), 'cloned\n')
  const author = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
  run('git', ['add', '.'], work)
  run('git', [...author, 'commit', '-qm', 'one'], work)
  mkdirSync(dirname(repo), { recursive: true })
  run('git', ['clone', '-q', '--bare', work, repo])
  run('git', ['update-server-info'], repo)
  const wheel = 'hutchdemo-1.0-py3-none-any.whl'
  put('../wheel/hutchdemo.py', 'said = "from a wheel"\n')
  const about = '../wheel/hutchdemo-1.0.dist-info'
  put(`${about}/METADATA`, 'Metadata-Version: 2.1\nName: hutchdemo\nVersion: 1.0\n')
  put(`${about}/WHEEL`, 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
  put(`${about}/RECORD`, 'hutchdemo.py,,\nhutchdemo-1.0.dist-info/METADATA,,\nhutchdemo-1.0.dist-info/WHEEL,,\n')
  mkdirSync(join(www, 'files.pythonhosted.org'))
  run('python3', ['-m', 'zipfile', '-c', join(www, 'files.pythonhosted.org', wheel), '.'], join(www, '../wheel'))
  put('pypi.org/simple/hutchdemo/index', `<a href="https://files.pythonhosted.org/${wheel}">${wheel}</a>`)
  put('../npm/package/package.json', '{"name":"hutch-demo","version":"1.0.0","main":"index.js"}')
  put('../npm/package/index.js', 'module.exports = "from a tarball"\n')
  const tarball = 'registry.npmjs.org/hutch-demo/-/hutch-demo-1.0.0.tgz'
  mkdirSync(dirname(join(www, tarball)), { recursive: true })
  run('tar', ['-czf', join(www, tarball), 'package'], join(www, '../npm'))
  const integrity = `sha512-${createHash('sha512')
    .update(readFileSync(join(www, tarball)))
    .digest('base64')}`
  const version = { name: 'hutch-demo', version: '1.0.0', dist: { tarball: `https://${tarball}`, integrity } }
  put(
    'registry.npmjs.org/hutch-demo/index',
    JSON.stringify({ name: 'hutch-demo', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }),
  )
}

export interface Company {
  readonly network: string
  /** Of its proxy. */
  readonly url: string
  readonly caFile: string
  /** Every URL that came by. */
  readonly asked: readonly string[]
}

export const company = async (t: Test, dir: string): Promise<Company> => {
  makeInternet(join(dir, 'www'))
  const asked: string[] = []
  ip(`netns add ${name}`)
  t.teardown(() => ip(`netns del ${name}`))
  ip(`link add ${link} type veth peer name eth0 netns ${name}`)
  for (const line of [`addr add ${here}/30 dev ${link}`, `link set ${link} up`]) ip(line)
  for (const line of [
    `addr add ${there}/30 dev eth0`,
    'link set eth0 up',
    'link set lo up',
    `route add default via ${here}`,
  ])
    ip(`-n ${name} ${line}`)
  const program = new URL('../programs/company.ts', import.meta.url).pathname
  const child = spawn('ip', ['netns', 'exec', name, process.execPath, program, dir, there], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill())
  const said = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the company has no proxy')))
    createInterface(child.stdout).on('line', line => (line.startsWith('{') ? resolve(line) : void asked.push(line)))
  })
  return { network, asked, ...(JSON.parse(said) as { url: string; caFile: string }) }
}
