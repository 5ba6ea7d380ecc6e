import t from 'tap'
import { addressed, createPaths, treePath } from '../../daemon/paths.ts'
import { decodePath } from '../../shared/http/request.ts'

/** What the matcher of whole paths hands a handler: all behind the prefix's slash, decoded once. */
const restOf = (prefix: string, rawPath: string) => decodePath(rawPath).slice(prefix.length + 1)
const paths = createPaths({ workdir: () => '/app', home: () => '/home/me' })
const on = (rawPath: string, prefix = '/filesystem') => paths.requested(rawPath, restOf(prefix, rawPath))

t.test('each way of writing an address lands where clients expect it', async t => {
  const cases: [string, string, string][] = [
    ['/filesystem/%2Ftmp%2Fa', '/tmp/a', '/tmp/a'],
    ['/filesystem%2Ftmp%2Fa', '/tmp/a', '/tmp/a'],
    ['/filesystem%2Ftmp/a', '/tmp/a', '/tmp/a'],
    ['/filesystem//tmp/a', '/tmp/a', '/tmp/a'],
    ['/filesystem/a.txt', 'a.txt', '/app/a.txt'],
    ['/filesystem/src/a', 'src/a', '/app/src/a'],
    ['/filesystem/src%2Fa.txt', '/src/a.txt', '/src/a.txt'],
    ['/filesystem/src%2fa.txt', 'src/a.txt', '/app/src/a.txt'],
    ['/filesystem/%2ftmp', '/tmp', '/tmp'],
    ['/filesystem/', '.', '/app'],
    ['/filesystem/.', '.', '/app'],
    ['/filesystem/%2F', '/', '/'],
    ['/filesystem%2F', '/', '/'],
    ['/filesystem//', '/', '/'],
    ['/filesystem/~', '/home/me', '/home/me'],
    ['/filesystem/~/x', '/home/me/x', '/home/me/x'],
    ['/filesystem/%2F~', '/~', '/~'],
    ['/filesystem/a//b///c', 'a/b/c', '/app/a/b/c'],
    ['/filesystem/../etc/x', '../etc/x', '/etc/x'],
    ['/filesystem/a%20b', 'a b', '/app/a b'],
    ['/filesystem/a%252Fb', 'a%2Fb', '/app/a%2Fb'],
    ['/filesystem/100%25', '100%', '/app/100%'],
    ['/filesystem//tmp/d/', '/tmp/d/', '/tmp/d'],
  ]
  for (const [rawPath, requested, absolute] of cases) {
    t.equal(on(rawPath), requested, `${rawPath} is shown as ${requested}`)
    t.equal(paths.absolute(on(rawPath)), absolute, `${rawPath} is ${absolute} on disk`)
  }
})

t.test('an upper-case %2F anywhere in the address counts, also in the prefix of a longer route', async t => {
  t.equal(addressed('/watch/filesystem%2Ftmp/d', 'tmp/d'), '/tmp/d')
  t.equal(on('/filesystem-multipart/initiate/src%2Fa', '/filesystem-multipart/initiate'), '/src/a')
})

t.test('without normalisation ~ and repeated slashes stay', async t => {
  t.equal(addressed('/filesystem-find/~/x', '~/x'), '~/x')
  t.equal(addressed('/filesystem-find//a//b', '/a//b'), '/a//b')
})

t.test('HOME is read at the time of the request and must be there', async t => {
  let home: string | undefined
  const live = createPaths({ workdir: () => '/', home: () => home })
  t.throws(() => live.normal('~/a'), { code: 'invalid_argument', message: /HOME is not set/ })
  home = '/root'
  t.equal(live.normal('~/a'), '/root/a')
})

t.test('a NUL is refused before it reaches a system call', async t => {
  for (const bad of [() => addressed('/filesystem/a%00b', 'a\0b'), () => treePath('a\0b'), () => paths.normal('a\0b')])
    t.throws(bad, { code: 'invalid_argument', message: /NUL/ })
})

t.test('tree paths are absolute', async t => {
  t.equal(treePath(''), '/')
  t.equal(treePath('src'), '/src')
  t.equal(treePath('/app//x'), '/app/x')
  t.equal(treePath('~'), '/~')
})

t.test('a root confines: .. and absolute paths cannot leave it', async t => {
  const confined = createPaths({ workdir: () => '/srv/box', home: () => undefined, root: '/srv/box' })
  t.equal(confined.absolute('a/../b'), '/srv/box/b')
  t.equal(confined.absolute('.'), '/srv/box')
  for (const path of ['../x', '/etc/passwd', '/srv/boxer', 'a/../../..'])
    t.throws(() => confined.absolute(path), { code: 'invalid_argument', message: /outside/ })
})
