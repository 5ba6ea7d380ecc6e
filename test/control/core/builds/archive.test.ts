/** What an archive of a stranger may hold, and what is refused with the name of the entry. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { contextOf } from '../../../../control/core/builds/archive/context.ts'
import { openZip } from '../../../../control/core/builds/archive/zip.ts'
import { zip, type ZipEntry } from '../../../support/zip.ts'

const limits = { maxBytes: 10_000, maxEntries: 20 }
const open = (t: { testdir(): string }, bytes: Buffer, most = limits) => {
  const file = join(t.testdir(), 'a.zip')
  writeFileSync(file, bytes)
  return openZip(file, most)
}
const link = 0o120777

t.test('hostile entries are refused by name', async t => {
  const cases: [string, ZipEntry[], RegExp][] = [
    ['traversal', [{ name: '../up' }], /"\.\.\/up" of the archive leads out/],
    ['traversal inside', [{ name: 'a/../../up' }], /"a\/\.\.\/\.\.\/up" .* leads out/],
    ['absolute', [{ name: '/etc/passwd' }], /"\/etc\/passwd" .* absolute/],
    ['drive', [{ name: 'C:/x' }], /"C:\/x" .* absolute/],
    ['backslash', [{ name: 'a\\b' }], /character in its name/],
    [
      'absolute link',
      [{ name: 'l', content: '/etc/shadow', mode: link }],
      /"l" .* link that leads out .*"\/etc\/shadow"/,
    ],
    ['link out', [{ name: 'd/l', content: '../../x', mode: link }], /"d\/l" .* link that leads out/],
    ['below a link', [{ name: 'l', content: 'd', mode: link }, { name: 'l/x' }], /"l\/x" .* below "l"/],
    ['below a file', [{ name: 'f' }, { name: 'f/x' }], /"f\/x" .* below "f"/],
    ['over a directory', [{ name: 'd/x' }, { name: 'd' }], /"d" .* twice/],
    ['twice', [{ name: 'x' }, { name: './x' }], /"\.\/x" .* twice/],
    ['device', [{ name: 'null', mode: 0o020666 }], /"null" .* device/],
    ['pipe', [{ name: 'p', mode: 0o010666 }], /"p" .* device, a pipe/],
    [
      'too many bytes',
      [
        { name: 'a', content: 'x'.repeat(6_000) },
        { name: 'b', content: 'x'.repeat(6_000) },
      ],
      /"b" .* more than 10000 bytes/,
    ],
    ['too many entries', Array.from({ length: 21 }, (_, at) => ({ name: `f${at}` })), /"f20" .* one more than the 20/],
    ['long name', [{ name: 'x'.repeat(300) }], /name that is too long/],
  ]
  for (const [what, entries, message] of cases)
    await t.rejects(open(t, zip(entries)), { code: 'unprocessable', message }, what)
  await t.rejects(open(t, Buffer.from('PK, but no zip')), { code: 'unprocessable', message: /no zip that can be read/ })
})

t.test('a bomb that lies about its size fails when it is read', async t => {
  const archive = await open(t, zip([{ name: 'bomb', content: 'x'.repeat(1_000_000), says: 100 }]))
  await t.rejects(archive.text('bomb'), { code: 'unprocessable', message: /"bomb" .* cannot be read: too many bytes/ })
  await t.rejects(buffer(contextOf(archive, { without: new Set(), added: {} })), /too many bytes/)
  archive.close()
})

t.test('files, directories, links and modes come through; what is to stay out does', async t => {
  const archive = await open(
    t,
    zip([
      { name: 'src/' },
      { name: 'src/run.sh', content: 'echo', mode: 0o100755 },
      { name: 'run', content: 'src/run.sh', mode: link },
      { name: '.env.build', content: 'A=secret' },
    ]),
  )
  t.same(
    [...archive.entries.values()],
    [
      { name: 'src', type: 'directory', size: 0, mode: 0o644, target: '' },
      { name: 'src/run.sh', type: 'file', size: 4, mode: 0o755, target: '' },
      { name: 'run', type: 'link', size: 10, mode: 0o777, target: 'src/run.sh' },
      { name: '.env.build', type: 'file', size: 8, mode: 0o644, target: '' },
    ],
  )
  t.equal(await archive.text('src/run.sh'), 'echo')
  t.equal(await archive.text('none'), undefined)
  const tar = (
    await buffer(contextOf(archive, { without: new Set(['.env.build']), added: { Dockerfile: 'FROM x' } }))
  ).toString('latin1')
  t.match(tar, 'FROM x')
  t.match(tar, 'src/run.sh')
  t.notMatch(tar, 'secret')
  t.same(
    tar,
    (await buffer(contextOf(archive, { without: new Set(['.env.build']), added: { Dockerfile: 'FROM x' } }))).toString(
      'latin1',
    ),
    'the same bytes each time',
  )
  archive.close()
})
