import '../../support/native.ts'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

const unshare = ['--mount', '--propagation', 'private', '--'] as const
const possible = spawnSync('/usr/bin/unshare', [...unshare, '/bin/true']).status === 0

t.test(
  'mounts go between the directories that were opened, and follow no link',
  { skip: !possible && 'needs a mount namespace' },
  async t => {
    const program = join(import.meta.dirname, '../../programs/mounts.ts')
    const out = execFileSync('/usr/bin/unshare', [...unshare, process.execPath, program, t.testdir()], {
      encoding: 'utf8',
    })
    t.strictSame(JSON.parse(out), {
      link: 'ENOTDIR',
      'below a link': 'ENOTDIR',
      file: 'ENOTDIR',
      missing: 'ENOENT',
      dots: 'EINVAL',
      relative: 'EINVAL',
      created: true,
      'created again': false,
      mode: '750',
      owner: [4711, 4712],
      'unmount nothing': 'EINVAL',
      content: 'text',
      write: 'done',
      'write read-only': 'EROFS',
      'write to the source': 'done',
      after: false,
    })
  },
)
