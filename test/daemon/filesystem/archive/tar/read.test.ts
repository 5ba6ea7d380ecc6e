import { execFileSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { encodeHeader, type Header } from '../../../../support/tar-header.ts'
import { tarEntries, type TarEntry } from '../../../../../daemon/filesystem/archive/tar/read.ts'

const plain: Header = { name: 'f', mode: 0o644, uid: 0, gid: 0, size: 5, mtime: 1, type: '0', linkname: '' }
const head = (given: Partial<Header> = {}) => encodeHeader({ ...plain, ...given })
const filled = (text: string | Buffer) => {
  const bytes = Buffer.from(text as string)
  return Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])
}
const entry = (given: Partial<Header>, content: string | Buffer) =>
  Buffer.concat([head({ size: Buffer.byteLength(content), ...given }), filled(content)])
const end = Buffer.alloc(1024)

async function* pieces(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** The whole file of an entry, holes filled. */
const contentOf = async (one: TarEntry): Promise<Buffer> => {
  const whole = Buffer.alloc(one.size)
  for (const { offset, length } of one.spans)
    for (let done = 0; done < length; ) {
      const piece = await one.read(length - done)
      piece.copy(whole, offset + done)
      done += piece.length
    }
  return whole
}

const read = async (bytes: Buffer, size = 10_000) => {
  const found: (Pick<TarEntry, 'name' | 'kind' | 'mode' | 'uid' | 'mtime' | 'linkname'> & { content: Buffer })[] = []
  for await (const one of tarEntries(pieces(bytes, size))) found.push({ ...one, content: await contentOf(one) })
  return found
}

/** A file with holes, made of `count` written pieces, the last bytes a hole as well. */
const holes = (path: string, count: number) => {
  const fd = openSync(path, 'w')
  for (let index = 0; index < count; index++) writeSync(fd, `piece ${index}`, index * 64 * 1024 + 10)
  ftruncateSync(fd, count * 64 * 1024 + 100_000)
  closeSync(fd)
}

const made = (t: Test) => {
  const dir = t.testdir({ d: {}, 'a.txt': 'A', empty: '' })
  mkdirSync(join(dir, 'd', 'l'.repeat(200), 'm'.repeat(200)), { recursive: true })
  writeFileSync(join(dir, 'd', 'l'.repeat(200), 'm'.repeat(200), 'deep'), 'D')
  writeFileSync(join(dir, 'd', 'ü€'), 'U')
  return dir
}

t.test('what tar writes, in each of its formats, however it is cut', async t => {
  const dir = made(t)
  for (const format of ['gnu', 'oldgnu', 'pax'])
    for (const size of [1, 511, 100_000]) {
      const found = await read(
        execFileSync('tar', [`--format=${format}`, '-C', dir, '-c', 'd', 'a.txt', 'empty']),
        size,
      )
      const names = found.map(({ name, kind }) => `${kind} ${name}`).sort()
      const long = `d/${'l'.repeat(200)}/${'m'.repeat(200)}`
      t.same(
        names,
        [
          'directory d/',
          `directory d/${'l'.repeat(200)}/`,
          `directory ${long}/`,
          'file a.txt',
          `file ${long}/deep`,
          'file d/ü€',
          'file empty',
        ],
        `${format} in ${size}`,
      )
      t.equal(found.find(({ name }) => name.endsWith('deep'))?.content.toString(), 'D')
    }
  for (const format of ['v7', 'ustar']) {
    const found = await read(execFileSync('tar', [`--format=${format}`, '-C', dir, '-c', 'a.txt', 'empty']))
    t.match(found, [
      { name: 'a.txt', kind: 'file', content: Buffer.from('A') },
      { name: 'empty', content: Buffer.alloc(0) },
    ])
  }
})

t.test('files with holes are whole, and what follows them too', async t => {
  const dir = t.testdir({ after: 'after' })
  for (const count of [1, 4, 60]) {
    holes(join(dir, 'holes'), count)
    const wanted = execFileSync('cat', [join(dir, 'holes')], { maxBuffer: 1e8 })
    for (const how of [
      ['--format=pax', '--sparse-version=1.0'],
      ['--format=pax', '--sparse-version=0.1'],
    ]) {
      const bytes = execFileSync('tar', [...how, '--hole-detection=raw', '-S', '-C', dir, '-c', 'holes', 'after'])
      t.ok(bytes.length < wanted.length, 'the archive has no holes')
      const found = await read(bytes, 1000)
      t.same(
        found.map(({ name }) => name),
        ['holes', 'after'],
        `${how.join(' ')} ${count}`,
      )
      t.ok(found[0]?.content.equals(wanted), 'each byte in its place')
      t.equal(found[1]?.content.toString(), 'after')
    }
  }
  holes(join(dir, 'holes'), 4)
  const oldest = ['--format=pax', '--sparse-version=0.0', '--hole-detection=raw', '-S', '-C', dir, '-c', 'holes']
  await t.rejects(read(execFileSync('tar', oldest)), { message: /0\.0/ })
  const gnu = ['--format=gnu', '--hole-detection=raw', '-S', '-C', dir, '-c', 'holes']
  await t.rejects(read(execFileSync('tar', gnu)), { message: /sparse file of the old kind/ }, 'and not lost')
})

t.test('what stands in an extended header wins', async t => {
  const record = (key: string, value: string) => {
    const tail = ` ${key}=${value}\n`
    let length = Buffer.byteLength(tail) + 1
    while (String(length).length + Buffer.byteLength(tail) !== length) length++
    return `${length}${tail}`
  }
  const global = entry({ type: 'g' }, record('comment', 'x'))
  const local = entry({ type: 'x' }, record('path', 'ü\nn') + record('uid', '3000000000') + record('mtime', '-1.5'))
  const found = await read(Buffer.concat([global, local, entry({}, 'hello'), entry({ name: 'second' }, 'x'), end]))
  t.match(found, [
    { name: 'ü\nn', uid: 3_000_000_000, mtime: -1.5 },
    { name: 'second', mtime: 1 },
  ])
})

t.test('kinds', async t => {
  const bare = { size: 0 }
  const found = await read(
    Buffer.concat([
      entry({ name: 'old/', size: 0 }, ''),
      // A size says nothing here: no content follows.
      head({ name: 'd', type: '5', size: 9_000 }),
      head({ name: 's', type: '2', linkname: 'x', ...bare }),
      head({ name: 'h', type: '1', linkname: 'x', ...bare }),
      head({ name: 'fifo', type: '6', ...bare }),
      head({ name: 'dev', type: '3', ...bare }),
      entry({ name: 'contiguous', type: '7' }, 'x'),
      end,
      entry({ name: 'behind' }, 'x'),
    ]),
  )
  t.same(
    found.map(({ name, kind }) => `${kind} ${name}`),
    [
      'directory old/',
      'directory d',
      'symlink s',
      'link h',
      'other fifo',
      'other dev',
      'file contiguous',
      'file behind',
    ],
  )
})

t.test('what is cut or broken is refused', async t => {
  const whole = entry({}, 'hello')
  const sparse = (list: string, size = '100') =>
    Buffer.concat([
      entry(
        { type: 'x' },
        [
          `22 GNU.sparse.major=1\n`,
          `22 GNU.sparse.minor=0\n`,
          `${24 + size.length} GNU.sparse.realsize=${size}\n`,
        ].join(''),
      ),
      entry({}, filled(list)),
    ])
  const cases: [string, Buffer, RegExp][] = [
    ['in a header', whole.subarray(0, 100), /end of data/],
    ['in content', whole.subarray(0, 514), /end of data/],
    ['in padding', whole.subarray(0, 600), /end of data/],
    ['a size beyond the end', head({ size: 2 ** 40 }), /end of data/],
    ['a negative size', head({ size: -5 }), /header/],
    ['a long name without end', head({ type: 'L', size: 2 ** 30 }), /max size/],
    ['a size that is none', Buffer.concat([entry({ type: 'x' }, '11 size=a1\n'), whole]), /header/],
    ['an owner that is none', Buffer.concat([entry({ type: 'x' }, '10 uid=a1\n'), whole]), /uid/],
    ['a volume', entry({ type: 'M' }, 'x'), /volume/],
    ['a list of pieces that is none', sparse('x\n'), /sparse/],
    ['a list that is cut', sparse('400\n1\n'), /sparse/],
    ['more pieces than memory', sparse('99999999\n'), /pieces/],
    ['a piece without content', sparse('1\n0\n5000\n', '5000'), /less content/],
    ['a piece behind the end', sparse('1\n90\n0\n', '10'), /larger/],
  ]
  const drain = async (bytes: Buffer) => {
    for await (const one of tarEntries(pieces(bytes, 1000)))
      for (const { length } of one.spans) for (let left = length; left > 0; ) left -= (await one.read(left)).length
  }
  for (const [what, bytes, message] of cases) await t.rejects(drain(bytes), { message }, what)
})
