import t from 'tap'
import { goArch, goDuration } from '../../daemon/go-spelling.ts'

t.test('durations and architectures as Go spells them', async t => {
  t.equal(goDuration(0), '0s')
  t.equal(goDuration(59.6), '1m0s')
  t.equal(goDuration(3723.5), '1h2m4s')
  t.equal(goDuration(3600), '1h0m0s')
  t.equal(goDuration(360_000), '100h0m0s')
  t.equal(goArch('x64'), 'amd64')
  t.equal(goArch('arm64'), 'arm64')
})
