/** What goes on ends with what it is allowed by: each group of exchanges that have one right, and nobody else's. */
import t from 'tap'
import { createStanding } from '../../../../control/core/access/standing.ts'
import { closing } from '../../../../shared/closing.ts'
import { fail } from '../../../../shared/errors.ts'
import { listen } from '../../../../shared/http/listen.ts'
import { serve } from '../../../../shared/http/server.ts'
import { silentLog } from '../../../../shared/log.ts'
import { handle, reply, route } from '../../../../shared/route.ts'
import { fakeClock } from '../../../support/clock.ts'
import { control } from '../../../support/control.ts'

t.test('exchanges are cut when their right is refused, within a second, and those alone', async t => {
  const clock = fakeClock()
  const closer = closing({ log: silentLog })
  const standing = createStanding({ clock, log: silentLog }, closer)
  const answers = new Map<string, unknown>()
  const looked: string[] = []
  const cuts: string[] = []
  const watch = (id: string, name: string) => {
    let isOver = false
    let ended = () => {}
    const end = () => {
      isOver = true
      ended()
    }
    const holds = async () => {
      looked.push(id)
      if (answers.has(id)) throw answers.get(id)
    }
    const cut = () => {
      cuts.push(name)
      end()
    }
    standing.watch({ id, holds }, { isOver: () => isOver, onOver: run => void (ended = run), cut })
    return end
  }
  watch('a', 'first')
  watch('a', 'second')
  watch('b', 'other')
  watch('c', 'done')()
  await clock.tick(1_000)
  t.same(looked, ['a', 'b', 'a', 'b'], 'once for all that have it, and not for what is over')
  answers.set('a', new Error('the disk is slow'))
  await clock.tick(1_000)
  t.same(cuts, [], 'a store that does not answer ends nothing')
  answers.set('a', fail('unauthenticated', { reason: 'revoked' }))
  await clock.tick(1_000)
  t.same(cuts, ['first', 'second'])
  looked.length = 0
  await clock.tick(1_000)
  t.same(looked, ['b', 'b'], 'nobody has it any more')
  await closer.close()
  looked.length = 0
  await clock.tick(1_000)
  t.same(looked, [])
})

t.test(
  'a stream of the management API ends with its key, by revocation and by time; a call that ends its own key is answered',
  async t => {
    const endless = handle(
      route('GET /v0/endless', {
        id: 'endless.get',
        summary: 'Goes on',
        extra: { access: { scope: 'account:control', role: 'member' }, tenant: 'none' },
      }),
      () =>
        reply(200, {}, async (out, signal) => {
          out.write('begun')
          await new Promise(done => signal.addEventListener('abort', done))
        }),
    )
    const slow = Promise.withResolvers<void>()
    const late = handle(
      route('GET /v0/late', {
        id: 'late.get',
        summary: 'Takes its time',
        extra: { access: { scope: 'account:control', role: 'member' }, tenant: 'none' },
      }),
      async () => {
        await slow.promise
        return {}
      },
    )
    const { api, call, clock } = await control(t, { routes: [endless, late] })
    const { port, close } = await listen(serve(api, { log: silentLog }), { host: '127.0.0.1', port: 0 })
    t.teardown(() => close(0))
    const keyOf = async (body: object): Promise<{ id: string; apiKey: string }> =>
      (await call('POST', '/api_keys', body)).body
    const get = (path: string, { apiKey }: { apiKey: string }) =>
      fetch(`http://127.0.0.1:${port}/v0${path}`, { headers: { authorization: `Bearer ${apiKey}` } })
    const [brief, revoked, lasting] = [await keyOf({ expires_in: '1h' }), await keyOf({}), await keyOf({})]
    const ended: string[] = []
    const open = async (name: string, key: { apiKey: string }) => {
      const { body } = await get('/endless', key)
      const reader = (body as ReadableStream<Uint8Array>).getReader()
      t.equal(Buffer.from((await reader.read()).value as Uint8Array).toString(), 'begun')
      const end = reader.read().then(
        () => 'an end like any other',
        () => void ended.push(name),
      )
      return { end, cancel: () => reader.cancel() }
    }
    const ofBrief = await open('brief', brief)
    const ofRevoked = await open('revoked', revoked)
    const ofLasting = await open('lasting', lasting)
    const waiting = get('/late', revoked)
    await clock.tick(2_000)
    t.same(ended, [])
    await call('DELETE', `/api_keys/${revoked.id}`)
    await clock.tick(1_000)
    t.equal(await ofRevoked.end, undefined, 'cut, not ended')
    slow.resolve()
    t.equal((await waiting).status, 200)
    await clock.tick(3_600_000)
    t.equal(await ofBrief.end, undefined)
    t.same(ended, ['revoked', 'brief'])
    await ofLasting.cancel()
  },
)
