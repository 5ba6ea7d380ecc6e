/**
 * Programs that believe nothing of the root file system they run in. The loader, the C library and the tools of the
 * bundle have paths compiled in, where they look for code and configuration (`/etc/ld.so.preload`, `/etc/nsswitch.conf`,
 * `/usr/lib/.../gconv`, the program that loads kernel modules). In a sandbox these are the tenant's, who is root there.
 */
import { readFileSync, writeFileSync } from 'node:fs'

/**
 * The first directory of such paths, and what takes its place: `/sys`, where nobody can make a file, and which no tenant
 * can mount over. Each is as long as what it replaces, because lengths are compiled in too, and the rest of a path stays,
 * because a linker lets other texts share it.
 */
const replaced: readonly (readonly [string, string])[] = [
  ['/etc/', '/sys/'],
  ['/usr/', '/sys/'],
  ['/var/', '/sys/'],
  ['/lib/', '/sys/'],
  ['/run/', '/sys/'],
  ['/bin/', '/sys/'],
  ['/opt/', '/sys/'],
  ['/sbin/', '/sys//'],
  ['/home/', '/sys//'],
  ['/proc/sys/kernel/modprobe', '/sys//sys/kernel/modprobe'],
]

/** What these programs may name for all that, by the program's name. */
const kept: Readonly<Record<string, readonly string[]>> = {
  // It watches a file there that tells it nothing, and does not start without; its socket comes by descriptor.
  'wireguard-go': ['/var/', '/run/'],
}

/** Changes `file`, the program `name`; says whether there was anything to change. */
export const withoutTenantPaths = (name: string, file: string): boolean => {
  const bytes = readFileSync(file)
  const found = replaced.filter(([path]) => !kept[name]?.includes(path) && bytes.includes(path))
  for (const [path, other] of found)
    for (let at = bytes.indexOf(path); at >= 0; at = bytes.indexOf(path, at)) bytes.write(other, at, 'latin1')
  if (found.length > 0) writeFileSync(file, bytes)
  return found.length > 0
}
