import t from 'tap'
import { assetName, assetUrl, checkProgram, releaseOf, sizeLimits } from '../../../daemon/upgrade/release.ts'

t.test('latest unless a version is named, the default address unless another is', async t => {
  for (const asked of [undefined, null, {}, [], 'x', { version: 7 }, { version: '' }])
    t.same(releaseOf(asked, 'http://d'), { version: 'latest', baseUrl: 'http://d' })
  for (const version of ['develop', 'main', 'latest', 'v1.2.3'])
    t.equal(releaseOf({ version, baseUrl: 'http://b//' }, '').version, version)
  t.equal(releaseOf({ baseUrl: 'http://b//' }, '').baseUrl, 'http://b')
})

t.test('a version cannot leave its project', async t => {
  for (const version of ['..', 'a/../b', 'a/b', 'a%2Fb', '?x', '#', 'é', '-x'])
    t.throws(() => releaseOf({ version }, ''), { code: 'invalid_argument', details: { field: 'version' } }, version)
})

t.test('the asset is named after the platform and lies where releases lie', async t => {
  t.equal(assetName('linux', 'x64'), 'sandbox-api-linux-amd64')
  t.equal(assetName('linux', 'arm64'), 'sandbox-api-linux-arm64')
  t.equal(assetUrl({ version: 'latest', baseUrl: 'http://b' }, 'a'), 'http://b/latest/download/a')
  t.equal(assetUrl({ version: 'v1', baseUrl: 'http://b' }, 'a'), 'http://b/download/v1/a')
})

t.test('a program is ELF or a script, neither tiny nor huge', async t => {
  const elf = Buffer.from([0x7f, 0x45, 0x4c, 0x46])
  t.doesNotThrow(() => checkProgram(elf, sizeLimits.min))
  t.doesNotThrow(() => checkProgram(Buffer.from('#!/b'), sizeLimits.max))
  t.throws(() => checkProgram(Buffer.from('<htm'), 5000), /neither an ELF program nor a script/)
  t.throws(() => checkProgram(Buffer.alloc(0), 5000), /neither/)
  t.throws(() => checkProgram(elf, sizeLimits.min - 1), /bytes/)
  t.throws(() => checkProgram(elf, sizeLimits.max + 1), /bytes/)
})
