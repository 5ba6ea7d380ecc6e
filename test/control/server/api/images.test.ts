import t from 'tap'
import { control } from '../../../support/control.ts'

t.test('images are listed with their tags, bare in every version', async t => {
  const { call } = await control(t)
  for (const version of ['2026-04-16', '2026-04-28']) {
    const { body } = await call('GET', '/images', undefined, { headers: { 'svc-version': version } })
    t.match(body, [
      {
        metadata: { name: 'base', resourceType: 'sandbox', workspace: 'default', status: 'BUILT' },
        spec: { tags: [{ name: 'latest' }] },
      },
      { metadata: { name: 'tools' }, spec: { tags: [{ name: '1' }, { name: '2' }] } },
      { metadata: { name: 'localhost:5000/team/app' }, spec: { tags: [{ name: '1' }] } },
    ])
  }
})

t.test('one is found by its name, whatever its type is said to be', async t => {
  const { call } = await control(t)
  for (const target of ['/images/sandbox/tools', '/images/_/tools', '/images/_/localhost%3A5000%2Fteam%2Fapp'])
    t.equal((await call('GET', target)).status, 200, target)
  for (const target of ['/images/agent/tools', '/images/_/none', '/images/_/tools:1'])
    t.equal((await call('GET', target)).status, 404, target)
})
