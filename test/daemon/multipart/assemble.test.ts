import { createHash } from 'node:crypto'
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { daemon } from '../../support/daemon.ts'

const base = '/filesystem-multipart'
const pieces = ['a', 'b', 'c'].map(letter => letter.repeat(letter === 'c' ? 10 : 5_000))

const form = (value: string) => ({
  body: `--XyZ\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n${value}\r\n--XyZ--\r\n`,
  headers: { 'content-type': 'multipart/form-data; boundary=XyZ' },
})

/** Uploads three parts to `path` and answers the inodes of where they were gathered and of the finished file. */
const inodes = async (t: Test, path: string, argv: readonly string[] = []) => {
  const { call, config } = await daemon(t, { argv })
  const { uploadId } = (await call('POST', `${base}/initiate${encodeURIComponent(path)}`)).body
  const parts = []
  for (const [index, piece] of pieces.entries()) {
    t.equal((await call('PUT', `${base}/${uploadId}/part?partNumber=${index + 1}`, form(piece))).status, 200)
    parts.push({ partNumber: index + 1, etag: createHash('md5').update(piece).digest('hex') })
  }
  const gathered = statSync(join(config.tmpDir, 'multipart-uploads', uploadId, 'data')).ino
  t.equal((await call('POST', `${base}/${uploadId}/complete`, { body: { parts } })).status, 200)
  t.equal(readFileSync(path, 'utf8'), pieces.join(''))
  return { gathered, finished: statSync(path).ino }
}

t.test('equal parts on the file system of the target become the file by a rename', async t => {
  const { gathered, finished } = await inodes(t, join(t.testdirName, 'whole.bin'))
  t.equal(finished, gathered)
})

t.test('a file of another user is copied, so that it is theirs', async t => {
  if (process.getuid?.() !== 0) return void t.pass('only root can take another identity: not looked at')
  const dir = mkdtempSync(join(tmpdir(), 'hutch-user-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  chownSync(dir, 10_001, 10_001)
  const { gathered, finished } = await inodes(t, join(dir, 'whole.bin'), ['--user', '10001'])
  t.not(finished, gathered)
  t.equal(statSync(join(dir, 'whole.bin')).uid, 10_001)
})
