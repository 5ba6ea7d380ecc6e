/** The contract of the per-sandbox API, kept by hutchd alone on this machine as `make daemon` runs it. */
import t from 'tap'
import { realDaemon } from '../support/real-daemon.ts'
import { suite } from './suite.ts'

t.test('a daemon by itself', async t => {
  const { url, dir } = await realDaemon(t)
  const headers = { 'x-svc-authorization': 'Bearer ignored', 'svc-version': '2026-04-28', 'user-agent': 'client/1.0' }
  await suite(t, { url, headers, workdir: `${dir}/work`, scratch: `${dir}/scratch`, gateway: false, ownNetwork: false })
})
