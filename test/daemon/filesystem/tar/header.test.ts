import { execFileSync } from 'node:child_process'
import t from 'tap'
import { decodeHeader, encodeHeader, type Header } from '../../../../daemon/filesystem/tar/header.ts'

const plain: Header = { name: 'f', mode: 0o644, uid: 1, gid: 2, size: 0, mtime: 1_700_000_000, type: '0', linkname: '' }
const users = { user: 'u', group: 'g' }
const end = Buffer.alloc(1024)

/** What tar says of an archive of one empty entry. */
const listed = (header: Header): string =>
  execFileSync('tar', ['--numeric-owner', '--full-time', '--utc', '-tvf', '-'], {
    input: Buffer.concat([encodeHeader(header, users), end]),
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  })
    .toString()
    .trim()

t.test('what is written is read again, whatever the numbers', async t => {
  for (const given of [
    {},
    { name: 'ü/€' },
    { name: 'a\udcff' },
    { name: 'n'.repeat(100) },
    { name: `${'p'.repeat(155)}/${'n'.repeat(100)}` },
    { linkname: 'l'.repeat(100), type: '2' },
    { uid: 0o7777777, gid: 0o10000000 },
    { uid: 4_294_967_294, gid: 4_294_967_294 },
    { size: 0o77777777777 },
    { size: 10 * 1024 ** 3 },
    { mtime: 0 },
    { mtime: -86_400 },
    { mtime: 8_589_934_592 },
    { mode: 0 },
    { mode: 0o7777 },
  ]) {
    const header = { ...plain, ...given }
    const bytes = encodeHeader(header, users)
    t.equal(bytes.length, 512)
    t.same(decodeHeader(bytes), header, JSON.stringify(given).slice(0, 80))
  }
})

t.test('tar itself reads it', async t => {
  const cases: [Partial<Header>, RegExp][] = [
    [{}, /^-rw-r--r-- 1\/2 +0 2023-11-14 22:13:20 f$/],
    [{ mode: 0 }, /^---------- /],
    [{ mode: 0o4755 }, /^-rwsr-xr-x /],
    [{ uid: 4_000_000_000 }, / 4000000000\/2 /],
    [{ mtime: 8_589_934_592 }, / 2242-03-16 /],
    [{ mtime: -86_400 }, / 1969-12-31 /],
    [{ name: `${'p'.repeat(150)}/${'n'.repeat(90)}` }, new RegExp(` ${'p'.repeat(150)}/${'n'.repeat(90)}$`)],
    [{ name: `${'d'.repeat(200)}/${'n'.repeat(255)}` }, new RegExp(` ${'d'.repeat(200)}/${'n'.repeat(255)}$`)],
    [{ name: 'l', type: '2', linkname: 'x'.repeat(300) }, new RegExp(` l -> ${'x'.repeat(300)}$`)],
    [{ name: 'd/', type: '5' }, /^d.* d\/$/],
  ]
  for (const [given, wanted] of cases) t.match(listed({ ...plain, ...given }), wanted)
})

t.test('what is no header is refused', async t => {
  const good = encodeHeader(plain, users)
  t.throws(() => decodeHeader(Buffer.alloc(512, 'x')), { message: /checksum/ })
  const changed = Buffer.from(good)
  changed[0] = 0x67
  t.throws(() => decodeHeader(changed), { message: /checksum/ })
  for (const [at, value] of [
    [124, '9zzzzzzzzzz'],
    [100, '-000644'],
  ] as const) {
    const wrong = Buffer.from(good)
    wrong.write(value, at, 'latin1')
    let sum = 8 * 32
    for (let index = 0; index < 512; index++) if (index < 148 || index > 155) sum += wrong[index] as number
    wrong.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
    t.throws(() => decodeHeader(wrong), { message: /number/ }, value)
  }
})
