/** What a workload's machine may do by itself: it is a member of its workspace for as long as it is there. */
import t from 'tap'
import { workloadHost } from '../../../support/workloads.ts'

t.test('the key and the client of a machine are good at the management API, and end with it', async t => {
  const { deploy, reached, world, url, api } = await workloadHost(t)
  await deploy('a', 'one')
  await reached('a', 'DEPLOYED')
  const [{ spec } = { spec: { env: {} as Record<string, string> } }] = [...world.machines.values()]
  const { SVC_API_KEY: key = '', SVC_CLIENT_CREDENTIALS: client = '', SVC_API_URL: at } = spec.env
  t.equal(at, `${url}/v0`)
  const list = async (credential: string) =>
    (await fetch(`${url}/v0/agents`, { headers: { authorization: `Bearer ${credential}` } })).status
  t.equal(await list(key), 200)
  t.equal(await list(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`), 401, 'another secret')
  const made = await fetch(`${url}/v0/policies`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      metadata: { name: 'p' },
      spec: { type: 'flavor', flavors: [{ type: 'cpu', name: 'x86' }] },
    }),
  })
  t.equal(made.status, 403, 'a member is no admin')
  const granted = await fetch(`${url}/v0/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${client}`, 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials' }),
  })
  t.equal(granted.status, 200)
  const { access_token: token } = (await granted.json()) as { access_token: string }
  t.equal(await list(token), 200)
  await api('DELETE', '/agents/a')
  t.equal(await list(key), 401)
  t.equal(await list(token), 401)
})
