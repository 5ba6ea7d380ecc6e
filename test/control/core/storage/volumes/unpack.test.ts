/** What a volume template takes of a tar, and what it refuses. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pack, type Header } from 'tar-stream'
import t from 'tap'
import { unpackTemplate } from '../../../../../control/core/storage/volumes/unpack.ts'

const roomy = { bytes: 1_000_000, entries: 100 }

type Entry = readonly [header: Partial<Header> & { name: string }, content?: string]

const tarOf = (...entries: readonly Entry[]): Readable => {
  const tar = pack()
  for (const [header, content] of entries) tar.entry(header, content ?? '')
  tar.finalize()
  return Readable.from(tar)
}

t.test('files and directories come as they are, without setuid', async t => {
  const directory = t.testdir()
  const mtime = new Date('2020-01-02T03:04:05Z')
  const seen = await unpackTemplate(
    tarOf(
      [{ name: './', type: 'directory' }],
      [{ name: './bin/tool', mode: 0o6755, mtime }, 'run'],
      [{ name: 'deep/er/file' }, 'x'.repeat(5_000)],
      [{ name: 'deep/er', type: 'directory' }],
      [{ name: 'empty', type: 'directory' }],
    ),
    directory,
    roomy,
  )
  t.same(seen, { bytes: 5_003, blockBytes: 3 * 4_096, entries: 5 })
  t.equal(readFileSync(join(directory, 'bin/tool'), 'utf8'), 'run')
  t.equal(lstatSync(join(directory, 'bin/tool')).mode & 0o7777, 0o755)
  t.equal(lstatSync(join(directory, 'bin/tool')).mtimeMs, mtime.getTime())
  t.same(readdirSync(join(directory, 'empty')), [])
})

t.test('what leads out, links, devices and what is too large are refused', async t => {
  const wrong: readonly (readonly [string, Readable, RegExp])[] = [
    ['a symbolic link', tarOf([{ name: 'l', type: 'symlink', linkname: 'file' }]), /"l" is a symbolic link/],
    ['a hard link', tarOf([{ name: 'f' }, 'x'], [{ name: 'l', type: 'link', linkname: 'f' }]), /"l" is a hard link/],
    ['a device', tarOf([{ name: 'd', type: 'character-device' }]), /"d" is a character-device/],
    ['a pipe', tarOf([{ name: 'p', type: 'fifo' }]), /"p" is a fifo/],
    ['an absolute path', tarOf([{ name: '/etc/passwd' }, 'x']), /absolute/],
    ['a path that climbs', tarOf([{ name: 'a/../../b' }, 'x']), /leads out/],
    ['the same twice', tarOf([{ name: 'a' }, 'x'], [{ name: './a' }, 'y']), /"\.\/a" is there twice/],
    ['a file below a file', tarOf([{ name: 'a' }, 'x'], [{ name: 'a/b' }, 'y']), /"a\/b" is there twice/],
    ['a long name', tarOf([{ name: `${'n'.repeat(256)}` }, 'x']), /no path/],
    [
      'many entries',
      tarOf(...Array.from({ length: 101 }, (_, n) => [{ name: `f${n}` }, ''] as Entry)),
      /more than 100/,
    ],
    ['much content', tarOf([{ name: 'a' }, 'x'.repeat(1_000_001)]), /larger than 1000000 bytes/],
    ['nothing', tarOf(), /is empty/],
    ['no tar', Readable.from([Buffer.alloc(2_048, 'x')]), /is no tar/],
    ['half a tar', Readable.from([tarOf([{ name: 'a' }, 'x'.repeat(2_000)]).read() as Buffer]), /is no tar|is empty/],
  ]
  for (const [what, tar, words] of wrong) {
    const directory = t.testdir({ inside: {} })
    await t.rejects(
      unpackTemplate(tar, join(directory, 'inside'), roomy),
      { code: 'invalid_argument', details: { field: 'content', reason: words } },
      what,
    )
    t.same(readdirSync(directory), ['inside'], `${what}: nothing beside it`)
  }
})

t.test('an upload that is given up ends', async t => {
  const stop = new AbortController()
  const endless = new Readable({ read() {} })
  const unpacking = unpackTemplate(endless, t.testdir(), roomy, stop.signal)
  stop.abort(new Error('gone'))
  await t.rejects(unpacking, { message: 'gone' })
})
