import { readFile } from 'node:fs/promises'
import t from 'tap'
import { fail } from '../../shared/errors.ts'
import { jsonLog, silentLog } from '../../shared/log.ts'

const logged = (level: 'debug' | 'info' | 'warn' | 'error' = 'debug') => {
  const lines: string[] = []
  return { lines, log: jsonLog({ level, now: () => 0, write: line => void lines.push(line) }) }
}
const last = (lines: readonly string[]) => JSON.parse(lines.at(-1) ?? 'null')

t.test('one line of JSON per event at or above the level', async t => {
  const { lines, log } = logged('warn')
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](`at.${level}`, { n: 1 })
  t.equal(lines.length, 2)
  t.same(last(lines), { t: '1970-01-01T00:00:00.000Z', level: 'error', event: 'at.error', n: 1 })
  t.ok(lines.every(line => line.endsWith('}\n') && line.indexOf('\n') === line.length - 1))
  log.error('split', { text: 'a\nb\u2028' })
  t.equal(lines.at(-1)?.split('\n').length, 2, 'what is logged cannot begin a line of its own')
})

t.test('secrets are left out by key, at any depth', async t => {
  const { lines, log } = logged()
  const keys = ['authorization', 'Authorization', 'Proxy-Authorization', 'cookie', 'token', 'secret', 'password']
  for (const key of [...keys, 'apiKey', 'api-key', 'api_key', 'privateKey', 'private-key', 'env']) {
    log.info('x', { deep: [{ [key]: 'hush' }], [key]: { inner: 'hush' } })
    t.notMatch(lines.at(-1), /hush/, key)
    t.match(last(lines)[key], '[REDACTED]')
  }
  log.info('x', { tokens: 3, environment: 'kept' })
  t.match(last(lines), { tokens: 3, environment: 'kept' }, 'words that only look alike are kept')
})

t.test('errors with their causes, big integers, bound fields', async t => {
  const { lines, log } = logged()
  const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'EX' })
  log.with({ part: 'a' }).with({ id: 1n }).warn('x', { error })
  t.match(last(lines), { part: 'a', id: '1', error: { message: 'outer', code: 'EX', cause: { message: 'inner' } } })
})

t.test('stacks of bugs only: not of what is expected, nor of what the system refused', async t => {
  const { lines, log } = logged()
  const refused = await readFile('/nowhere').catch(error => error)
  const expected = fail('busy', { what: 'the box', next: 'wait' }, refused)
  log.warn('x', { error: expected })
  t.match(last(lines).error, { message: 'the box; wait', code: 'busy', cause: { code: 'ENOENT' } })
  t.notMatch(lines.at(-1), /stack/)
  log.warn('x', { error: fail('busy', { what: 'the box', next: 'wait' }, new TypeError('a bug')) })
  t.match(last(lines).error.cause.stack, /TypeError: a bug\n +at /)
})

t.test('the silent one says nothing', async t => {
  t.equal(silentLog.with({ a: 1 }), silentLog)
  t.doesNotThrow(() => silentLog.error('x'))
})
