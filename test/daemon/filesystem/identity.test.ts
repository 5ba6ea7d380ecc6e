import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import t from 'tap'
import { daemon } from '../../support/daemon.ts'

const form = (value: string) => ({
  body: `--XyZ\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n${value}\r\n--XyZ--\r\n`,
  headers: { 'content-type': 'multipart/form-data; boundary=XyZ' },
})
const octets = { 'content-type': 'application/octet-stream' }
const user = 10_001

t.test('every way of writing and reading has the rights of the workload, not those of the daemon', async t => {
  if (process.getuid?.() !== 0) return void t.pass('only root can take another identity: not looked at')
  // Not below the test's own directory, which the user may not be able to reach.
  const root = mkdtempSync(join(tmpdir(), 'hutch-user-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  chmodSync(root, 0o755)
  const [theirs, ours] = [join(root, 'theirs'), join(root, 'ours')]
  mkdirSync(theirs)
  chownSync(theirs, user, user)
  mkdirSync(ours)
  writeFileSync(join(ours, 'secret'), 'secret', { mode: 0o600 })
  symlinkSync(join(ours, 'secret'), join(theirs, 'link'))
  const { call } = await daemon(t, { argv: ['--user', String(user)] })
  const on = (family: string, path: string) => `/${family}${encodeURIComponent(path)}`
  const upload = async (path: string, pieces: readonly string[]) => {
    const { uploadId } = (await call('POST', on('filesystem-multipart/initiate', path))).body
    const parts = []
    for (const [index, piece] of pieces.entries()) {
      await call('PUT', `/filesystem-multipart/${uploadId}/part?partNumber=${index + 1}`, form(piece))
      parts.push({ partNumber: index + 1, etag: createHash('md5').update(piece).digest('hex') })
    }
    return call('POST', `/filesystem-multipart/${uploadId}/complete`, { body: { parts } })
  }
  const archive = pack()
  archive.entry({ name: 'd/f' }, 'tar')
  archive.finalize()
  const tar = await buffer(archive as unknown as AsyncIterable<Buffer>)
  const writes = (dir: string) => [
    () => call('PUT', on('filesystem', join(dir, 'json')), { body: { content: 'json' } }),
    () => call('PUT', on('filesystem', join(dir, 'form')), form('form')),
    () => call('PUT', on('filesystem', join(dir, 'raw')), { body: 'raw', headers: octets }),
    () => call('PUT', on('filesystem', join(dir, 'made')), { body: { isDirectory: true } }),
    () => call('PUT', `/filesystem/tree${join(dir, 'tree')}`, { body: { files: { f: 'tree' } } }),
    () => call('PUT', on('filesystem-archive', join(dir, 'tar')), { body: tar }),
    () => upload(join(dir, 'parts'), ['aa', 'bb', 'c']),
  ]
  for (const write of writes(theirs)) t.equal((await write()).status, 200)
  t.equal(readFileSync(join(theirs, 'parts'), 'utf8'), 'aabbc')
  for (const name of readdirSync(theirs, { recursive: true, encoding: 'utf8' }))
    if (name !== 'link') t.equal(statSync(join(theirs, name)).uid, user, `${name} is theirs`)
  for (const write of writes(ours)) t.match((await write()).status, /^(422|500)$/)
  t.same(readdirSync(ours), ['secret'], 'nothing came of it')
  for (const path of [join(ours, 'secret'), join(theirs, 'link')]) {
    t.equal((await call('GET', on('filesystem', path))).status, 422, path)
    t.equal((await call('GET', `${on('filesystem', path)}?download=true`)).status, 422, path)
  }
  t.equal((await call('GET', `${on('filesystem-content-search', root)}?query=secret`)).body.total, 0)
  t.equal((await call('DELETE', on('filesystem', join(ours, 'secret')))).status, 422)
  t.equal((await call('DELETE', `${on('filesystem', theirs)}?recursive=true`)).status, 422, 'its parent is not theirs')
  t.equal(readFileSync(join(ours, 'secret'), 'utf8'), 'secret')
})
