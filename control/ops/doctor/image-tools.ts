/** What brings images in: a box without it runs those that it has. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Finding } from '../../drivers/driver.ts'

const tools: Readonly<Record<string, string>> = {
  umoci: 'images of registries cannot be pulled, nor others brought in',
  skopeo: 'images of archives, layouts and other sources cannot be brought in (make image)',
}

const isIn = (directory: string, name: string): boolean => {
  try {
    accessSync(join(directory, name), constants.X_OK)
    return true
  } catch {
    // Not there, or not to be run.
    return false
  }
}

/** `path` is where programs are looked for, as in PATH. */
export const imageTools = (path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'): Finding[] =>
  Object.entries(tools).map(([name, without]) =>
    path.split(delimiter).some(directory => isIn(directory, name))
      ? { ok: true, what: name }
      : { ok: false, what: `${name} is missing: ${without}`, next: `apt-get install ${name}` },
  )
