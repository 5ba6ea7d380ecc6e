/** Where the kernel shows itself as files, which are nobody's data: of no use elsewhere, and many cannot be read to an end. */
import { readFile } from 'node:fs/promises'
import { parseMountinfo, visible } from '../../../shared/drives/mountinfo.ts'

/** File systems without storage, by the names of filesystems(5) and the kernel's documentation. */
const kinds: ReadonlySet<string> = new Set([
  'binfmt_misc',
  'bpf',
  'cgroup',
  'cgroup2',
  'configfs',
  'debugfs',
  'devpts',
  'efivarfs',
  'fusectl',
  'mqueue',
  'proc',
  'pstore',
  'securityfs',
  'sysfs',
  'tracefs',
])

/** Where the daemon itself is mounted in a sandbox, which it may not read all of. */
const ownPlace = '/.hutch'

/** Absolute paths of directories that such a file system is mounted at, as this process sees them, and of the daemon's own. */
export const kernelPlaces = async (): Promise<ReadonlySet<string>> => {
  const mounts = visible(parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8')))
  return new Set([...mounts.filter(({ type }) => kinds.has(type)).map(({ mountPoint }) => mountPoint), ownPlace])
}
