import t from 'tap'
import { AppError, errno, errors, fail, isError, messageOf } from '../../shared/errors.ts'

t.test('an error carries the status, the text and the advice of its line in the table', async t => {
  const cause = new Error('below')
  const error = fail('busy', { what: 'all slots are taken', next: 'try again' }, cause)
  t.match(error, {
    name: 'AppError',
    code: 'busy',
    status: 503,
    retry: true,
    message: 'all slots are taken; try again',
  })
  t.equal(error.cause, cause)
  t.notOk('cause' in fail('not_found', { kind: 'a', name: 'b' }), 'none when none was given')
  t.ok(error instanceof AppError && error instanceof Error)
})

t.test('isError tells ours from the rest, and one code from another', async t => {
  const error = fail('not_found', { kind: 'thing', name: 'x' })
  t.ok(isError(error))
  t.ok(isError(error, 'not_found'))
  t.notOk(isError(error, 'busy'))
  for (const other of [new Error('x'), undefined, { code: 'not_found' }, 'not_found']) t.notOk(isError(other))
})

t.test('every line has a client or server error status; what is our fault may be tried again', async t => {
  for (const [code, { status, retry }] of Object.entries(errors)) {
    t.ok(status >= 400 && status < 600, code)
    if (retry) t.ok(status >= 500 || [409, 424, 429].includes(status), `${code}: a wrong request stays wrong`)
  }
})

t.test('system errors by code, anything thrown by message', async t => {
  t.equal(errno(Object.assign(new Error('x'), { code: 'ENOENT' })), 'ENOENT')
  for (const other of [new Error('x'), Object.assign(new Error('x'), { code: 7 }), { code: 'ENOENT' }, null])
    t.equal(errno(other), undefined)
  t.equal(messageOf(new Error('why')), 'why')
  t.equal(messageOf(7), '7')
})
