/** Defences of the daemon's own files where tenants can write: what is there may be anybody's. */
import type { Defence } from './defence.ts'

const file = 'daemon/own-files/own-files.ts'
const test = 'test/daemon/own-files/own-files.test.ts'

export const ownFileDefences: readonly Defence[] = [
  {
    name: 'files of another user are the daemon’s',
    file,
    text: '=> uid === process.geteuid?.()',
    instead: '=> uid >= 0',
    test,
  },
  {
    name: 'what a link leads to is believed',
    file,
    text: "    if (!found.isFile() || !isOwn(found)) throw new Error('it is no file of the daemon')\n    return readRegularFile(path, { maxBytes, follow: false })",
    instead: '    return readRegularFile(path, { maxBytes })',
    test,
  },
  {
    name: 'a directory is private as it was found',
    file,
    text: '  if (found && (!found.isDirectory() || !isOwn(found))) {',
    instead: '  if (found && !found) {',
    test,
  },
  {
    name: 'output is appended to whatever is there',
    file,
    text: '  return found?.isFile() && isOwn(found) ? openSync(path, O_WRONLY | O_APPEND | O_NOFOLLOW)',
    instead: '  return found?.isFile() ? openSync(path, O_WRONLY | O_APPEND)',
    test,
  },
  {
    name: 'a file is made where a link leads',
    file,
    text: '  clear(path)\n  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, mode)',
    instead: '  return openSync(path, O_WRONLY | O_CREAT | O_APPEND, mode)',
    test,
  },
  {
    name: 'a directory in the place of a file keeps the daemon from writing it',
    file,
    text: '  if (lookAt(to)?.isDirectory()) moveAside(to)\n',
    instead: '',
    test,
  },
]
