import { execFileSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { archivePump } from '../../../../daemon/filesystem/archive/pack.ts'
import type { FilePort } from '../../../../daemon/filesystem/port.ts'

/** A box of nothing but directories, some of which nobody reads to an end. */
const tree: Readonly<Record<string, readonly string[]>> = {
  '/': ['proc', 'sys', '.hutch', 'srv'],
  '/.hutch': ['own'],
  '/.hutch/own': ['loader', 'open'],
  '/.hutch/own/open': [],
  '/home': ['closed'],
  '/srv': ['proc'],
  '/srv/proc': ['mine'],
  '/srv/proc/mine': [],
  '/proc': ['fs'],
  '/proc/fs': [],
}
const stat = { kind: 'directory', mode: 0o40_755, size: 0, uid: 0, gid: 0, mtimeNs: 0n } as const
const port = {
  lstat: async () => stat,
  async readdir(path: string) {
    const names = tree[path]
    if (!names) throw Object.assign(new Error(`EACCES: ${path}`), { code: 'EACCES' })
    return names.map(name => ({ name, kind: 'directory' as const }))
  },
} as unknown as FilePort
const owners = { refresh: async () => {}, user: () => 'root', group: () => 'root' }

const namesIn = async (path: string): Promise<string[]> => {
  const out = new PassThrough()
  const whole = buffer(out)
  await archivePump(path, 'directory', false, { port, owners })(out, new AbortController().signal)
  out.end()
  return execFileSync('tar', ['-tf', '-'], { input: await whole, encoding: 'utf8' })
    .trim()
    .split('\n')
}

t.test('of what is the kernel or the daemon only the name is in an archive of all', async t => {
  t.same(await namesIn('/'), ['.hutch/', 'proc/', 'srv/', 'srv/proc/', 'srv/proc/mine/', 'sys/'])
  t.same(await namesIn('/proc'), ['fs/'], 'unless it is what was asked for')
  t.same(await namesIn('/.hutch'), ['own/', 'own/open/'], 'without what nobody reads there')
  await t.rejects(namesIn('/home'), { code: 'EACCES' }, 'elsewhere that is not passed over in silence')
})
