/** Requests to previews of one connection that repeat their head. */
import t from 'tap'
import { systemClock } from '../../../../../shared/clock.ts'
import { echo, oneConnection } from '../../../../support/one-connection.ts'

t.test(
  'a public preview is there for a request that repeats its head only as long as it is there for any other',
  async t => {
    let later = 0
    const real = systemClock()
    const { ask, key, api, sockets } = await oneConnection(t, { clock: { ...real, now: () => real.now() + later } })
    const { secret } = await key()
    const port = await echo(t, 'beside')
    const make = async (name: string, given: object = {}) => {
      const body = { metadata: { name }, spec: { port, public: true, ...given } }
      const made = await api('POST', '/sandboxes/web/previews', body)
      t.equal(made.status, 200)
      return new URL(made.body.spec.url).pathname
    }
    const [one, other, short] = [await make('one'), await make('other'), await make('short', { ttl: '60s' })]
    for (const _ of [1, 2])
      for (const [path, method, seen] of [
        [`${one}/a`, 'GET', '/a'],
        [`${one}/b?x=1`, 'DELETE', '/b?x=1'],
        [`${one}/b?svc_preview_token=mine&x=1`, 'GET', '/b?x=1'],
        [`${other}/c`, 'GET', '/c'],
      ] as const) {
        const { status, body } = await ask(path, secret, method)
        t.match({ status, body }, { status: 200, body: { name: 'beside', method, url: seen } })
        t.notOk(body.headers.authorization, 'the key stays here')
      }
    for (const _ of [1, 2]) t.equal((await ask(short, secret)).status, 200)
    later = 120_000
    t.equal((await ask(short, secret)).status, 404, 'its time is over, and nobody wrote anything')
    for (const _ of [1, 2]) t.equal((await ask(other, secret)).status, 200)
    t.equal((await api('DELETE', '/sandboxes/web/previews/other')).status, 200)
    t.equal((await ask(other, secret)).status, 404)
    for (const _ of [1, 2]) t.equal((await ask(one, secret)).status, 200)
    const hidden = { metadata: { name: 'one' }, spec: { port, public: false } }
    t.equal((await api('PUT', '/sandboxes/web/previews/one', hidden)).status, 200)
    t.equal((await ask(one, secret)).status, 401)
    const guest = {
      metadata: { name: 'guest' },
      spec: { expiresAt: new Date(real.now() + later + 60_000).toISOString() },
    }
    const { token } = (await api('POST', '/sandboxes/web/previews/one/tokens', guest)).body.spec
    const byToken = () => ask(one, secret, 'GET', { 'x-svc-preview-token': token })
    for (const _ of [1, 2]) t.equal((await byToken()).status, 200)
    later += 120_000
    t.equal((await byToken()).status, 401, 'its token has only its time')
    t.equal(sockets.size, 1)
  },
)
