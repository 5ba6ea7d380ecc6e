/** Images of a registry of the tests' own, with a certificate that only `HUTCH_CA_FILE` makes trusted, and a password. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createImages, type Images, type ImagesConfig } from '../../../control/images/images.ts'
import type { KnownLogin } from '../../../control/images/pulling.ts'
import { isError } from '../../../shared/errors.ts'
import { systemClock } from '../../../shared/clock.ts'
import { randomIds } from '../../../shared/ids.ts'
import { silentLog } from '../../../shared/log.ts'
import { login, registry, registryBinary } from '../../support/registry.ts'

const binary = registryBinary()
if (!binary || process.getuid?.() !== 0) {
  const why = binary ? 'needs root' : 'needs docker-registry'
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}

const dir = t.testdir()
const r = await registry(t, binary, join(dir, 'registry'))
r.push(
  'team/app:1',
  rootfs => {
    mkdirSync(join(rootfs, 'etc'))
    writeFileSync(join(rootfs, 'etc/motd'), 'hello\n')
  },
  ['--config.env', 'GREETING=hi', '--config.workingdir', '/srv', '--config.user', 'app', '--config.label', 'org=test'],
)

let opened = 0
const logins = new Map<string, KnownLogin>([['red', { ...login, version: '1' }]])
const open = async (more: Partial<ImagesConfig> = {}): Promise<{ images: Images; own: string }> => {
  const dataDir = join(dir, `data-${++opened}`)
  mkdirSync(dataDir)
  const images = await createImages(
    {
      ...{ dataDir, imagesDir: join(dir, 'shared'), wireNames: [{ header: 'Svc', short: 'svc', image: 'svc' }] },
      ...{ registries: [{ host: 'localhost', port: Number(r.host.split(':')[1]), plain: false }], caFile: r.caFile },
      ...more,
    },
    {
      ...{ ids: randomIds(), log: silentLog, clock: systemClock() },
      loginFor: async workspace => logins.get(workspace),
    },
  )
  t.teardown(images.close)
  return { images, own: join(dataDir, 'images') }
}

/** Asks as the loop does, until the image is there or the pull has failed. */
const settle = async (images: Images, reference: string, workspace: string) => {
  for (;;) {
    try {
      return await images.need(reference, workspace)
    } catch (error) {
      if (!isError(error, 'busy')) throw error
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

t.test('a private image', async t => {
  const { images, own } = await open()
  const reference = `${r.host}/team/app:1`
  const image = await settle(images, reference, 'red')
  t.match(image, { env: { GREETING: 'hi' }, workdir: '/srv', user: 'app', labels: { org: 'test' }, name: reference })
  t.equal(readFileSync(join(image.rootfs, 'etc/motd'), 'utf8'), 'hello\n')
  t.same(readdirSync(own).sort(), ['names', 'pulled', 'trees'], 'no work is left')
})
