import { readdirSync } from 'node:fs'
import t from 'tap'
import { daemon } from '../../support/daemon.ts'

t.test('who looks through / does not get lost in the views of the kernel', async t => {
  const { call } = await daemon(t)
  // Everything else of this machine is left out: only what is looked at here may take time.
  const exclude = readdirSync('/').filter(name => name !== 'proc' && name !== 'sys')
  const query = `excludeDirs=${exclude.join(',')}&maxResults=1000`
  const found = await call('GET', `/filesystem-find/%2F?type=directory&${query}`)
  t.equal(found.status, 200)
  const paths = found.body.matches.map(({ path }: { path: string }) => path)
  t.ok(paths.includes('proc') && paths.includes('sys'), 'they are told')
  t.notOk(
    paths.some((path: string) => /^(proc|sys)\//.test(path)),
    'and not entered',
  )
  const matches = await call('GET', `/filesystem-content-search/%2F?query=Linux%20version&${query}`)
  t.same(matches.body.matches, [], 'nor searched')
  const named = await call('GET', '/filesystem-find/%2Fproc%2Fsys%2Fkernel?patterns=ostype')
  t.match(named.body.matches, [{ path: 'ostype' }], 'who names something in them gets it')
})
