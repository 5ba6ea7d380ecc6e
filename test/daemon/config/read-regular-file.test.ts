import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readRegularFile } from '../../../daemon/config/read-regular-file.ts'
import { daemon } from '../../support/daemon.ts'

t.test('only a file that ends is read', async t => {
  const dir = t.testdir({ plain: 'text', directory: {}, huge: '' })
  const at = (name: string) => join(dir, name)
  execFileSync('mkfifo', [at('fifo')])
  symlinkSync('/dev/zero', at('zero'))
  truncateSync(at('huge'), 17 * 1024 * 1024)
  t.equal(readRegularFile(at('plain')).toString(), 'text')
  for (const name of ['fifo', 'zero', 'directory']) t.throws(() => readRegularFile(at(name)), /no regular file/, name)
  t.throws(() => readRegularFile(at('huge')), /larger than/)
  t.throws(() => readRegularFile(at('none')), { code: 'ENOENT' })
})

t.test('a metadata document that never ends is an answer, and the daemon goes on', async t => {
  const made = await daemon(t)
  const path = made.config.metadataPaths[0] as string
  mkdirSync(join(path, '..'), { recursive: true })
  execFileSync('mkfifo', [path])
  for (let i = 0; i < 8; i++)
    t.match(await made.call('POST', '/environment/reload'), { status: 500, body: { error: /no regular file/ } })
  writeFileSync(join(made.dir, 'a'), 'still here')
  t.match((await made.call('GET', '/filesystem/a')).body, { content: 'still here' })
})
