/** Answers that differ from the document are found by the calls of the tests themselves. */
import t from 'tap'
import { handle, json, reply, route } from '../../shared/route.ts'
import { s } from '../../shared/schema.ts'
import { control } from '../support/control.ts'

const odd = (name: string, answer: () => never) =>
  handle(
    route(`GET /v0/odd/${name}`, {
      id: `odd.${name}`,
      summary: 'Odd',
      family: 'about',
      returns: s.object({ count: s.int() }),
      open: true,
    }),
    answer,
  )

t.test('an undeclared status, another type and another body are failures of the call', async t => {
  const { call } = await control(t, {
    routes: [
      odd('right', () => json({ count: 1 }) as never),
      odd('status', () => json({ error: 'teapot', code: 418, message: 'x' }, { status: 418 }) as never),
      odd('type', () => reply(200, { 'content-type': 'text/plain' }, 'one') as never),
      odd('body', () => json({ count: 'one' }) as never),
      odd('error', () => json({ error: 'internal' }, { status: 500 }) as never),
    ],
  })
  t.equal((await call('GET', '/odd/right')).status, 200)
  await t.rejects(call('GET', '/odd/status'), /odd\.status answers 418, which its document does not declare/)
  await t.rejects(call('GET', '/odd/type'), /body of type "text\/plain"/)
  await t.rejects(call('GET', '/odd/body'), /\/count must be integer/)
  await t.rejects(call('GET', '/odd/error'), /must have required property 'code'/)
})
