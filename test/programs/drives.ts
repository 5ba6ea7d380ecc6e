/** Mounts drives through a daemon's API; run it in a mount namespace of its own. Says what it saw, as JSON. */
import { chownSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../daemon/config/config.ts'
import { parseFlags } from '../../daemon/config/flags.ts'
import { driveRoutes } from '../../daemon/drives/routes.ts'
import { createDaemonSurface } from '../../daemon/surface.ts'
import { call } from '../support/call.ts'
import { dispatcher } from '../../shared/http/dispatch.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'

const dir = process.argv[2] as string
const at = (...names: string[]) => join(dir, ...names)
for (const name of ['drives/one/sub', 'drives/two', 'existing']) mkdirSync(at(name), { recursive: true })
writeFileSync(at('drives/one/sub/file'), 'text')
writeFileSync(at('plain'), '')
symlinkSync('existing', at('link'))
symlinkSync('/etc', at('drives/one/etc'))
chownSync(at('existing'), 0, 0)

const config = loadConfig({
  env: { HUTCH_DRIVES_ROOT: at('drives'), HUTCH_STATE_DIR: at('state'), HUTCH_UPGRADE_DIR: at('upgrade') },
  flags: parseFlags([]),
  cwd: dir,
})
const identity = { name: 'app', home: '/', uid: 4711, gid: 4712, groups: [] }
const bounds = driveRoutes({ config, identity: () => identity })
const surface = createDaemonSurface(bounds, { ...config, logRequests: false }, { checkReplies: true })
const api = dispatcher(bounds, surface, { log: silentLog, ids: randomIds(), elapsed: () => performance.now() })

const mount = (body: object) => call(api, 'POST', '/drives/mount', { body })
const unmount = (path: string) => call(api, 'DELETE', `/drives/mount/${encodeURIComponent(path.slice(1))}`)
const list = async () => (await call(api, 'GET', '/drives/mount')).body.mounts
const owner = (path: string) => [statSync(path).uid, statSync(path).gid]
const write = (path: string): string => {
  try {
    writeFileSync(path, 'new')
    return 'done'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'failed'
  }
}
const relative = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(dir, ''))
const seen: Record<string, unknown> = {}

seen['none'] = await list()
const first = await mount({ driveName: 'one', mountPath: at('new/sub'), drivePath: '/sub' })
seen['mounted'] = [first.status, relative(first.body)]
seen['content'] = readFileSync(at('new/sub/file'), 'utf8')
seen['again'] = (await mount({ driveName: 'one', mountPath: at('new/sub'), drivePath: '/sub/' })).status
seen['another there'] = (await mount({ driveName: 'two', mountPath: at('new/sub') })).status
seen['another directory there'] = (await mount({ driveName: 'one', mountPath: at('new/sub') })).status
seen['write'] = write(at('new/sub/written'))
seen['written to the drive'] = existsSync(at('drives/one/sub/written'))

seen['read-only'] = (await mount({ driveName: 'one', mountPath: at('existing'), readOnly: true })).status
seen['write read-only'] = write(at('existing/x'))
seen['list'] = relative(await list())

seen['directory made in the drive'] = [
  (await mount({ driveName: 'two', mountPath: at('made'), drivePath: '/deep/er' })).status,
  existsSync(at('drives/two/deep/er')),
]
for (const [name, body] of Object.entries({
  'unknown drive': { driveName: 'three', mountPath: at('x') },
  'over a link': { driveName: 'two', mountPath: at('link') },
  'below a link': { driveName: 'two', mountPath: at('link/below') },
  'over a file': { driveName: 'two', mountPath: at('plain') },
  'a link in the drive': { driveName: 'one', mountPath: at('y'), drivePath: '/etc' },
  'a missing directory, read-only': { driveName: 'two', mountPath: at('z'), drivePath: '/nope', readOnly: true },
  'over the drives': { driveName: 'two', mountPath: at('drives/one') },
  'with a map': { driveName: 'two', mountPath: at('m'), uidMap: '5' },
})) {
  const { status, body: answer } = await mount(body)
  seen[name] = [status, typeof answer.error]
}
seen['left behind'] = ['x', 'y', 'z', 'm'].filter(name => existsSync(at(name)))
seen['link untouched'] = owner(at('existing'))

for (const name of ['new/sub', 'existing', 'made']) {
  const { status, body } = await unmount(at(name))
  seen[`unmount ${name}`] = [status, relative(body).mountPath]
}
seen['after'] = await list()
seen['owners'] = { made: owner(at('new/sub')), parent: owner(at('new')), existing: owner(at('existing')) }
seen['unmount again'] = (await unmount(at('new/sub'))).status
seen['unmount what is no drive'] = (await unmount('/proc')).status
seen['drive keeps its owner'] = owner(at('drives/one/sub'))
process.stdout.write(JSON.stringify(seen))
