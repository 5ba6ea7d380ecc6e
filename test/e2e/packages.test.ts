/** What one sandbox has installed the next one installs without the registry, also after the server was killed. */
import t from 'tap'
import { whyNoInternet } from '../support/internet/network.ts'
import { debian, npmTarball, wheel } from '../support/internet/package-files.ts'
import { npmPackage, pythonPackage, startRegistries } from '../support/internet/registries.ts'
import { startWorld, type World } from '../support/internet/world.ts'
import { whyNoMachines } from '../support/machine.ts'
import { enterOwnNetwork } from '../support/tunnel-net.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines() ?? whyNoInternet())
enterOwnNetwork()
t.setTimeout(240_000)

const hosts = ['npm.example', 'index.example', 'files.example', 'deb.example', 'go.example'] as const
const kinds = ['npm', 'pypi', 'pypi', 'debian', 'go'] as const

/** What is installed, and what it says then. */
const installs: readonly (readonly [string, RegExp])[] = [
  [
    'mkdir -p /n && cd /n && npm install left --registry https://npm.example/ 2>&1; node -p "require(\'left\')"',
    /from a tarball/,
  ],
  [
    'pip install -q -i https://index.example/simple left 2>&1; python3 -c "import left; print(left.said)"',
    /from a wheel/,
  ],
  [
    `echo 'deb [trusted=yes] http://deb.example/debian ./' > /etc/apt/sources.list; rm -f /etc/apt/sources.list.d/*; apt-get update 2>&1; apt-get install -qq left 2>&1; cat /usr/share/left/said`,
    /from a \.deb/,
  ],
  ['curl -sS https://go.example/left.dev/m/@v/v1.0.0.zip', /^a module/],
]

const make = async ({ server }: World, name: string, proxy: object) => {
  const spec = { runtime: { image: 'base', memory: 1024 }, network: { proxy } }
  const made = await server.call('POST', '/v0/sandboxes', { metadata: { name }, spec })
  if (made.status !== 200) throw new Error(`no sandbox: ${made.text}`)
  await server.until(name, ({ status }) => status === 'DEPLOYED')
  return async (command: string): Promise<string> => {
    const body = { command, waitForCompletion: true, timeout: 100 }
    const answer = await server.call('POST', `/default/sandboxes/${name}/process`, body)
    return answer.body?.logs?.trim() ?? answer.text
  }
}

t.test('packages', async t => {
  const world = await startWorld(t, {
    HUTCH_PACKAGE_HOSTS: hosts.map((host, at) => `${kinds[at]}=${host}`).join(','),
    HUTCH_STANDBY_SECONDS: '600',
  })
  const { files, asked, stop } = await startRegistries(world.authority, world.names.table, hosts)
  t.teardown(stop)
  const dir = t.testdir()
  const { deb, list } = debian(dir)
  for (const [place, file] of [
    ...npmPackage('npm.example', npmTarball(dir)),
    ...pythonPackage('index.example', 'files.example', wheel(dir)),
    ['deb.example/debian/./Packages.gz', { body: list, type: 'application/gzip' }] as const,
    ['deb.example/debian/pool/left_1.0_all.deb', { body: deb }] as const,
    ['go.example/left.dev/m/@v/v1.0.0.zip', { body: Buffer.from('a module') }] as const,
  ])
    files.set(place, file)
  const bodies = () => asked.map(({ line }) => line).filter(line => line.startsWith('200 '))
  const first = await make(world, 'first', { allowedDomains: hosts })
  for (const [command, wanted] of installs) t.match(await first(command), wanted)
  t.equal(new Set(bodies()).size, 7, bodies().join(' '))
  await world.server.kill()
  await world.server.start()
  asked.length = 0
  const second = await make(world, 'second', { allowedDomains: hosts })
  for (const [command, wanted] of installs) t.match(await second(command), wanted)
  t.same(bodies(), [], 'not one body comes from outside')
  const third = await make(world, 'third', { allowedDomains: ['go.example'] })
  t.notMatch(
    await third(installs[0]?.[0] as string),
    /from a tarball/,
    'who may not reach the registry gets nothing of it',
  )
  t.match(await third(installs[3]?.[0] as string), /^a module/)
  for (const name of ['first', 'second', 'third']) await world.server.call('DELETE', `/v0/sandboxes/${name}`)
})
