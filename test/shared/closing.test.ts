import t from 'tap'
import { closing } from '../../shared/closing.ts'
import { jsonLog } from '../../shared/log.ts'

const setup = (boundMs?: number) => {
  const lines: string[] = []
  const log = jsonLog({ level: 'debug', now: () => 0, write: line => void lines.push(line) })
  return { lines, closer: closing(boundMs === undefined ? { log } : { log, boundMs }) }
}

t.test('what was opened last is closed first, once, whoever asks', async t => {
  const { closer } = setup()
  const closed: string[] = []
  closer.add('a', () => closed.push('a'))
  closer.add('b', async () => {
    await new Promise(resolve => setImmediate(resolve))
    closed.push('b')
  })
  await Promise.all([closer.close(), closer.close()])
  t.same(closed, ['b', 'a'])
})

t.test('one that fails or never ends is told of and does not stop the others', async t => {
  const { closer, lines } = setup(10)
  const closed: string[] = []
  closer.add('first', () => closed.push('first'))
  closer.add('stuck', () => new Promise(() => {}))
  closer.add('broken', () => {
    throw new Error('no')
  })
  await closer.close()
  t.same(closed, ['first'])
  t.match(lines.join(''), /"close\.failed","name":"broken"[^]*"close\.slow","name":"stuck","boundMs":10/)
})
