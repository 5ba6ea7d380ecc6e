import t from 'tap'
import { createReplay } from '../../../daemon/terminal/replay.ts'

t.test('nothing to show is nothing, not even a reset', async t => {
  t.equal(createReplay().text(), '')
})

t.test('short output is shown whole, after a reset of colours', async t => {
  const kept = createReplay(100)
  kept.add('one\n')
  kept.add('two')
  t.equal(kept.text(), '\x1b[0mone\ntwo')
})

t.test('long output is cut at the newline after the cut', async t => {
  const kept = createReplay(100)
  for (let i = 0; i < 100; i++) kept.add(`line ${i}\n`)
  const shown = kept.text()
  t.ok(shown.length <= 104)
  t.match(shown, /^\x1b\[0mline \d+\n/)
  t.ok(shown.endsWith('line 99\n'))
})

t.test('without a newline near the cut, the cut stays, but never inside a character', async t => {
  const kept = createReplay(1001)
  kept.add('😀'.repeat(2000))
  const shown = kept.text().slice('\x1b[0m'.length)
  t.ok(shown.length >= 1000)
  t.notOk(/^[\udc00-\udfff]/.test(shown))
})
