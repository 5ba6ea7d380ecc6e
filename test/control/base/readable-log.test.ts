import t from 'tap'
import { readableLine } from '../../../control/base/readable-log.ts'
import { fail } from '../../../shared/errors.ts'
import { jsonLog } from '../../../shared/log.ts'

const written = (log: (log: ReturnType<typeof jsonLog>) => void, colour = false): string => {
  let text = ''
  log(jsonLog({ level: 'debug', now: () => 0, write: line => (text += readableLine(line, { colour })) }))
  return text
}

t.test('time, level, event and fields in one line', async t => {
  const text = written(log => log.info('sandbox.deployed', { name: 'web', ms: 12, words: 'a b', list: ['x'] }))
  t.match(text, /^\d\d:\d\d:\d\d info {2}sandbox\.deployed name=web ms=12 words="a b" list=\["x"\]\n$/)
})

t.test('errors come last, with their causes, and with a stack when it says something', async t => {
  const error = fail('busy', { what: 'the box', next: 'wait' }, fail('busy', { what: 'a disk', next: 'wait' }))
  t.match(
    written(log => log.warn('x', { error, after: 1 })),
    /warn {2}x after=1 the box; wait; because: a disk; wait\n$/,
  )
  t.match(
    written(log => log.error('x', { error: new TypeError('a bug') })),
    /error x a bug\n +at .*\n/,
  )
})

t.test('what a tenant may have written cannot steer the terminal nor begin a line', async t => {
  const text = written(log =>
    log.warn('x', { path: 'a\x1b[2Jb\r\nc', error: new Error('\x9b31m\x07\n12:00:00 info fake') }),
  )
  // oxlint-disable-next-line no-control-regex
  t.notMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
  t.match(text.split('\n')[0], /b\\r\\nc/)
  const lines = text.trimEnd().split('\n').slice(1)
  t.ok(
    lines.every(line => /^ +at /.test(line)),
    'but for the places of a stack',
  )
})

t.test('colour only when it is asked for, and ended at the end of the line', async t => {
  t.equal(written(log => log.warn('x')).includes('\x1b'), false)
  t.match(
    written(log => log.warn('x'), true),
    '\x1b[33m',
  )
  t.ok(written(log => log.warn('x'), true).endsWith('\x1b[0m\n'))
})
