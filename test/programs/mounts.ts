/** Mounts and unmounts in the directory given; run it in a mount namespace of its own. Says what it saw, as JSON. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  bindMount,
  changeOwner,
  openDirectory,
  restrictMount,
  unmount,
  type Directory,
} from '../../daemon/native/mount/mount.ts'

const dir = process.argv[2] as string
const at = (name: string) => join(dir, name)
const code = (work: () => unknown): string => {
  try {
    work()
    return 'done'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}
const using = <T>(path: string, work: (directory: Directory) => T, mode?: number): T => {
  using directory = openDirectory(path, mode)
  return work(directory)
}
const seen: Record<string, unknown> = {}

mkdirSync(at('source'))
writeFileSync(at('source/file'), 'text')
symlinkSync('source', at('link'))
seen['link'] = code(() => using(at('link'), () => {}))
seen['below a link'] = code(() => using(at('link/new'), () => {}, 0o755))
seen['file'] = code(() => using(at('source/file'), () => {}))
seen['missing'] = code(() => using(at('missing'), () => {}))
seen['dots'] = code(() => using(`${dir}/source/../source`, () => {}))
seen['relative'] = code(() => using('source', () => {}))

seen['created'] = using(at('a/b/target'), ({ created }) => created, 0o750)
seen['created again'] = using(at('a/b/target'), ({ created }) => created, 0o750)
seen['mode'] = (statSync(at('a/b/target')).mode & 0o777).toString(8)
using(at('a/b/target'), directory => changeOwner(directory, 4711, 4712))
seen['owner'] = [statSync(at('a/b/target')).uid, statSync(at('a/b/target')).gid]

seen['unmount nothing'] = code(() => using(at('a/b/target'), unmount))
using(at('source'), from => using(at('a/b/target'), to => bindMount(from, to)))
seen['content'] = readFileSync(at('a/b/target/file'), 'utf8')
seen['write'] = code(() => writeFileSync(at('a/b/target/file'), 'changed'))
using(at('a/b/target'), mounted => restrictMount(mounted, { readOnly: true }))
seen['write read-only'] = code(() => writeFileSync(at('a/b/target/file'), 'again'))
seen['write to the source'] = code(() => writeFileSync(at('source/file'), 'again'))
using(at('a/b/target'), unmount)
seen['after'] = existsSync(at('a/b/target/file'))
console.log(JSON.stringify(seen))
